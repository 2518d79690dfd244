import { describe, expect, it } from "vitest";
import { jobOf } from "../../support/jobs.js";
import { waitingRun } from "../../support/runs.js";
import { until } from "../../support/wait.js";
import { useServer } from "./server.js";

const server = useServer();

async function newRun(queue: string) {
  await server.db.engine.queuePut(queue);
  return waitingRun(server.db, queue);
}

describe("telling a job", () => {
  it("lets it go on at once, without a worker, and is on record [#201] [#216]", async () => {
    const { id } = await newRun("told");
    const answer = await server.ask("POST", `/jobs/${id}/tell`, { name: "approved", value: { by: "ann" } });
    expect(answer).toMatchObject({ status: 200, body: { isNew: true } });
    await until("the server has delivered it", async () => (await jobOf(server.db, id)).state === "ready");
    const { body } = await server.ask("GET", `/jobs/${id}/steps?newest=true&limit=2`);
    expect(body).toMatchObject({
      state: "ready",
      waits: null,
      suspendedAt: null,
      items: [
        { kind: "got", key: "approved", value: { by: "ann" } },
        { kind: "signal", key: "approved" },
      ],
    });
    const { body: audit } = await server.ask("GET", "/audit?limit=1");
    expect(audit.items[0]).toMatchObject({
      who: "the-admin",
      action: "POST /jobs/{id}/tell",
      object: `job ${id} "approved"`,
      result: "done",
    });
  });

  it("counts once with an id [#198]", async () => {
    const { id } = await newRun("once");
    const tell = () => server.ask("POST", `/jobs/${id}/tell`, { name: "other", id: "hook-1" });
    expect((await tell()).body).toEqual({ isNew: true });
    expect((await tell()).body).toEqual({ isNew: false });
    expect((await server.ask("GET", `/jobs/${id}/steps?key=other`)).body.items).toMatchObject([{ about: "hook-1" }]);
  });

  it("is refused with what is wrong: ended, unknown, no name, too long, no right [#201]", async () => {
    const { id } = await newRun("refused");
    const tell = (body: object, role: "reader" | "producer" = "producer", job = id) =>
      server.ask("POST", `/jobs/${job}/tell`, body, { role });
    expect(await tell({ name: "x" }, "reader")).toMatchObject({ status: 403, body: { code: "MR102" } });
    expect(await tell({ name: "" })).toMatchObject({ status: 400, body: { code: "MR001" } });
    expect(await tell({ nam: "x" })).toMatchObject({ status: 400, body: { code: "MR001" } });
    expect(await tell({ name: "x" }, "producer", "1")).toMatchObject({ status: 404, body: { code: "MR002" } });
    expect(await tell({ name: "x", value: "x".repeat(1_048_576) })).toMatchObject({
      status: 413,
      body: { code: "MR004" },
    });
    expect(await tell({ name: "x", value: "x".repeat(1_048_574) })).toMatchObject({ status: 200 });
    await server.db.engine.cancel([id]);
    const ended = await tell({ name: "approved" });
    expect(ended).toMatchObject({
      status: 409,
      body: { code: "MR017", title: "the job has ended", detail: expect.stringContaining("cancelled") },
    });
    const { body: audit } = await server.ask("GET", "/audit?limit=1&who=the-producer");
    expect(audit.items[0]).toMatchObject({ action: "POST /jobs/{id}/tell", result: "MR017" });
  });
});

describe("cancelling a job", () => {
  it("ends its children too, without a worker [#207]", async () => {
    const { id, children } = await newRun("cancelled");
    expect((await server.ask("POST", `/jobs/${id}/cancel`, {})).body).toEqual({ done: true });
    await until("its children are cancelled", async () => {
      const { items } = (await server.ask("GET", `/jobs/${id}/children`)).body as { items: { state: string }[] };
      return items.length === children.length && items.every(({ state }) => state === "cancelled");
    });
  });
});

describe("the steps of a job", () => {
  it("are those of a job that there is, by pages that go on", async () => {
    expect(await server.ask("GET", "/jobs/1/steps")).toMatchObject({ status: 404, body: { code: "MR002" } });
    const { id } = await newRun("paged");
    const first = (await server.ask("GET", `/jobs/${id}/steps?limit=2`)).body;
    expect(first.items).toHaveLength(2);
    const rest = (await server.ask("GET", `/jobs/${id}/steps?limit=2&cursor=${first.next}`)).body;
    expect(rest.items).toMatchObject([{ kind: "started" }]);
    expect(rest.next).toBeUndefined();
  });
});
