import { expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { millrace } from "./cli.js";

const db = useDatabase({ migrate: false });

it("migrates, says how the schema compares, and prints it", async () => {
  const missing = await millrace(["migrate", "--status", "--json"], { url: db.url });
  expect(missing.code).toBe(1);
  expect(JSON.parse(missing.stdout)).toMatchObject({ state: "missing", installed: 0 });

  const doctor = await millrace(["doctor"], { url: db.url });
  expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining('there is no Millrace schema "millrace"') });

  const first = await millrace(["migrate"], { url: db.url });
  expect(first).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringMatching(
      /^applied 0001_engine\n[^]*functions and views replaced\nschema millrace is at version \d+\n$/,
    ),
  });

  const [again, status, printed, elsewhere] = await Promise.all([
    millrace(["migrate", "--json"], { url: db.url }),
    millrace(["migrate", "--status"], { url: db.url }),
    millrace(["migrate", "--print", "--schema", "jobs"]),
    millrace(["migrate", "--schema", "pg_wrong"], { url: db.url }),
  ]);
  expect(JSON.parse(again.stdout)).toMatchObject({ schema: "millrace", applied: [], functionsReplaced: false });
  expect(status).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^schema millrace: version (\d+) of \1, current\n$/),
  });
  expect(printed.stdout).toMatch(/^create schema if not exists jobs;$/m);
  expect(printed.stdout).toMatch(/commit;\n$/);
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('"pg_wrong" cannot name a schema') });
});

it("repairs a schema restored from another server", async () => {
  await db.engine.enqueue({ type: "work" });
  await db.sql("update cell set floor_xid = 1000000000000000");
  const doctor = await millrace(["doctor", "--json"], { url: db.url });
  expect(doctor.code).toBe(1);
  expect(wrongOf(doctor.stdout)).toEqual([
    {
      check: "schema",
      state: "wrong",
      message: expect.stringContaining("restored"),
      remedy: expect.stringContaining("millrace repair"),
    },
  ]);
  expect(await millrace(["enqueue", "work"], { url: db.url })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("millrace repair"),
  });

  expect(await millrace(["repair"], { url: db.url })).toEqual({
    code: 0,
    stderr: "",
    stdout: "schema millrace repaired: 1 job is ready\n",
  });
  expect((await millrace(["enqueue", "work"], { url: db.url })).code).toBe(0);
});

function wrongOf(stdout: string): unknown[] {
  return (JSON.parse(stdout) as { findings: { state: string }[] }).findings.filter(({ state }) => state === "wrong");
}
