import { describe, expect, it } from "vitest";
import { until } from "../../support/wait.js";
import { useServer } from "./server.js";

const server = useServer();
const count = async (): Promise<number> =>
  Number((await server.db.sql<{ n: string }>("select count(*) as n from job"))[0]!.n);

describe("a flow over HTTP", () => {
  it("is stored whole, in the order given, whatever waits for whom, and begins without a worker's help [#208]", async () => {
    await server.db.engine.queuePut("flows");
    const job = (type: string, more: object) => ({ type, queue: "flows", ...more });
    const body = {
      name: "import",
      queue: "flows",
      jobs: [
        job("report", { after: ["load"], when: "ended" }),
        job("load", { name: "load", after: ["a", "b"] }),
        job("extract", { name: "a", input: { file: 1 } }),
        job("extract", { name: "b", input: { file: 2 } }),
      ],
    };
    const { status, body: stored } = await server.ask("POST", "/flows", body, { role: "producer" });
    expect(status).toBe(200);
    const [report, load, a, b] = stored.jobs as string[];
    const graph = await server.ask("GET", `/flows/${stored.id}`);
    const after = Object.fromEntries(
      graph.body.jobs.map((one: { id: string; after: string[] }) => [one.id, one.after]),
    );
    expect(after).toEqual({ [a!]: [], [b!]: [], [load!]: [a, b], [report!]: [load] });
    for (const held of await server.db.engine.claim({ queues: ["flows"], limit: 2 }))
      await server.db.engine.complete(held);
    await server.ask("POST", "/flows", { flow: stored.id, jobs: [job("more", { after: [a!] })] });
    await until("what waited begins", async () => {
      const { jobs } = (await server.ask("GET", `/flows/${stored.id}`)).body as {
        jobs: { type: string; state: string }[];
      };
      return ["load", "more"].every((type) => jobs.find((one) => one.type === type)?.state === "ready");
    });
  });

  it("is made once with an Idempotency-Key [#208]", async () => {
    const ask = (jobs: object[], key = "flow-1") =>
      server.ask("POST", "/flows", { jobs }, { headers: { "idempotency-key": key } });
    const jobs = [
      { name: "a", type: "x" },
      { type: "y", after: ["a"] },
    ];
    const first = await ask(jobs);
    const before = await count();
    const again = await ask(jobs);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await count()).toBe(before);
    expect(await ask([{ type: "z" }])).toMatchObject({ status: 409, body: { code: "MR109" } });
  });

  it("is refused as a whole, with what is wrong, and nothing is stored [#208]", async () => {
    const before = await count();
    const x = { type: "x" };
    const refusals: readonly (readonly [object, number, string, string])[] = [
      [
        {
          jobs: [
            { ...x, name: "a", after: ["b"] },
            { ...x, name: "b", after: ["a"] },
          ],
        },
        400,
        "MR001",
        "wait for each other",
      ],
      [{ jobs: [{ ...x, after: ["nobody"] }] }, 400, "MR001", "no job of the flow"],
      [{ jobs: [x, { ...x, after: ["1"] }] }, 404, "MR002", "there is no job 1"],
      [
        {
          jobs: [
            { ...x, name: "a" },
            { ...x, name: "a" },
          ],
        },
        400,
        "MR001",
        'named "a"',
      ],
      [{ jobs: [{ ...x, fingerprint: "f" }] }, 400, "MR001", "fingerprint"],
      [{ jobs: [{ ...x, when: "never" }] }, 400, "MR001", "when"],
      [{ jobs: [x, { ...x, queue: "nowhere" }] }, 404, "MR003", "nowhere"],
      [{ jobs: [x, { ...x, priority: 99 }] }, 400, "MR001", "priority"],
      [{ flow: "1", jobs: [x] }, 404, "MR002", "there is no job 1"],
      [{ jobs: Array.from({ length: 10_001 }, () => x) }, 400, "MR001", "10000"],
      [{ jobs: [{ ...x, after: Array.from({ length: 1001 }, (_, i) => String(i)) }] }, 400, "MR001", "1000"],
      [{}, 400, "MR001", "jobs"],
    ];
    for (const [body, status, code, told] of refusals)
      expect(await server.ask("POST", "/flows", body), told).toMatchObject({
        status,
        body: { code, detail: expect.stringContaining(told), remedy: expect.any(String) },
      });
    expect(await server.ask("POST", "/flows", { jobs: [x] }, { role: "reader" })).toMatchObject({ status: 403 });
    expect(await count()).toBe(before);
  });
});

describe("telling by a fingerprint", () => {
  it("reaches the live job, and is refused when there is none [#201]", async () => {
    const { id } = await server.db.engine.enqueue({ type: "x", fingerprint: "order/7" });
    const tell = (fingerprint: string) =>
      server.ask("POST", "/jobs/tell", { fingerprint, name: "paid", value: 1 }, { role: "producer" });
    expect(await tell("order/7")).toMatchObject({ status: 200, body: { isNew: true } });
    expect(await server.db.engine.steps(id)).toMatchObject([{ kind: "signal", key: "paid", value: 1 }]);
    expect(await tell("order/8")).toMatchObject({ status: 404, body: { code: "MR002", remedy: expect.any(String) } });
    await server.db.engine.cancel([id]);
    expect(await tell("order/7")).toMatchObject({ status: 404 });
    const { body } = await server.ask("GET", "/audit?limit=3&who=the-producer");
    expect(body.items.map(({ object, result }: { object: string; result: string }) => [object, result])).toEqual([
      ['fingerprint "order/7" of queue "default" "paid"', "MR002"],
      ['fingerprint "order/8" of queue "default" "paid"', "MR002"],
      ['fingerprint "order/7" of queue "default" "paid"', "done"],
    ]);
  });
});
