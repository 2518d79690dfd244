import { expect, it } from "vitest";
import { millrace } from "../../cli/cli.js";
import { useServer } from "./server.js";

const server = useServer();

const declare = (version: number, member: string, kind: string): Promise<unknown> =>
  server.db.engine.typeDeclare([
    {
      type: "checked",
      version,
      defaults: {},
      inputSchema: { type: "object", required: [member], properties: { [member]: { type: kind } } },
    },
  ]);
const stored = async (): Promise<unknown> => (await server.db.sql("select count(*)::int as n from job"))[0]!["n"];

it("inputs of jobs without the code are checked by what a worker has declared, before anything is written", async () => {
  await declare(1, "to", "string");
  const before = await stored();
  const [bad, good] = [
    { type: "checked", input: { to: 5 } },
    { type: "checked", input: { to: "ann", more: [] } },
  ];
  const refused = {
    status: 422,
    body: { code: "MR011", detail: expect.stringContaining("to: is not of type string") },
  };
  expect(await server.ask("POST", "/jobs", bad)).toMatchObject(refused);
  expect(await server.ask("POST", "/jobs", { type: "checked" })).toMatchObject({ status: 422 });
  expect(await server.ask("POST", "/jobs/many", { jobs: [good, bad] })).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('the input of "checked" (jobs.1) is not valid: to:') },
  });
  expect(await server.ask("POST", "/flows", { jobs: [bad] })).toMatchObject(refused);
  const schedule = { rule: { every: "1h" }, job: { type: "checked" } };
  expect(await server.ask("PUT", "/schedules/hourly", { ...schedule, input: { to: 5 } })).toMatchObject(refused);
  expect((await server.ask("GET", "/schedules/hourly")).status).toBe(404);
  expect(await server.ask("PUT", "/schedules/hourly", { ...schedule, input: { to: "ann" } })).toMatchObject({
    status: 200,
  });
  const job = encodeURIComponent(JSON.stringify(bad));
  expect(await server.ask("POST", `/jobs/stream?job=${job}`, "bytes")).toMatchObject(refused);
  const url = server.db.url;
  const flow = JSON.stringify({ jobs: [bad] });
  for (const args of [
    ["enqueue", "checked", '{"to": 5}'],
    ["flows", "enqueue", flow],
  ])
    expect(await millrace(args, { url })).toMatchObject({ code: 2, stderr: expect.stringContaining("to: is not of") });
  expect(await stored()).toBe(before);

  expect(await server.ask("POST", "/jobs", good)).toMatchObject({ status: 200 });
  expect(await server.ask("POST", "/jobs", { type: "unknown", input: 5 })).toMatchObject({ status: 200 });
  await declare(1, "to", "number"); // what is declared now holds, whatever was known before
  expect(await server.ask("POST", "/jobs", bad)).toMatchObject({ status: 200 });

  await declare(2, "all", "array"); // without a header it is of version 1, which nobody has declared any more
  expect(await server.ask("POST", "/jobs", bad)).toMatchObject({ status: 200 });
  const second = { ...bad, headers: { "millrace-version": 2 } };
  await expect
    .poll(async () => (await server.ask("POST", "/jobs", second)).status, { timeout: 20_000, interval: 1000 })
    .toBe(422);
  expect(await server.ask("POST", "/jobs", { ...second, input: { all: [] } })).toMatchObject({ status: 200 });
});
