import { Writable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { Output } from "../../src/cli/output.js";
import { useDatabase } from "../support/database.js";
import { claimOne } from "../support/jobs.js";
import { type Ended, millrace } from "./cli.js";

const db = useDatabase();
const cli = (...args: readonly string[]): Promise<Ended> => millrace(args, { url: db.url });

/** Clears the screen, sets a title, rings, writes over the line, by C0 and by C1, and turns the text round. */
const nasty = "x\u001B[2J\u001B]0;owned\u0007\r\u009B31m\u007F\u202Egnp";
const raw = /(?!\n)[\p{Cc}\u202A-\u202E\u2066-\u2069]/u;

describe("what comes from the database cannot steer the terminal", () => {
  let failedId = "";

  beforeAll(async () => {
    await db.engine.queuePut("odd");
    const job = { type: nasty, queue: "odd", group: nasty, tenant: nasty, fingerprint: nasty };
    await db.engine.enqueue({ ...job, input: { [nasty]: nasty }, headers: { [nasty]: nasty }, maxAttempts: 1 });
    const failing = await claimOne(db, "odd");
    failedId = failing.id;
    await db.engine.progressPut(failing, nasty);
    await db.engine.fail(failing, { message: nasty, name: nasty, code: nasty, stack: `${nasty}\n  at ${nasty}` });
    await db.engine.enqueue({ ...job, fingerprint: `${nasty}2` });
    const [running] = await db.engine.claim({ queues: ["odd"], worker: nasty });
    await db.engine.progressPut(running!, { [nasty]: nasty });
    await db.engine.queuePause("odd", { by: nasty, because: nasty });
  });

  it.each([
    ["jobs"],
    ["jobs show ID"],
    ["failures"],
    ["queues groups odd"],
    ["queues"],
    ["queues events"],
    ["limits"],
    ["top"],
  ])("%s, as text and as JSON", async (command) => {
    const args = command.replace("ID", failedId).split(" ");
    const [text, json] = await Promise.all([cli(...args), cli(...args, "--json")]);
    for (const { stdout, stderr, code } of [text, json]) {
      expect(stderr + String(code)).toBe("0");
      expect(stdout).not.toMatch(raw);
    }
    expect(JSON.stringify(JSON.parse(json.stdout))).toBeTruthy();
  });

  it("and is there to be seen", async () => {
    const { stdout } = await cli("jobs", "show", failedId);
    expect(stdout).toContain("x\\u001b[2J\\u001b]0;owned\\u0007\\r\\u009b31m\\u007f\\u202egnp");
    const json = JSON.parse((await cli("jobs", "show", failedId, "--json")).stdout) as { job: { type: string } };
    expect(json.job.type).toBe(nasty);
  });

  it("nor can an error", async () => {
    const { stderr, code } = await cli("queues", "purge", nasty);
    expect(code).toBe(2);
    expect(stderr).toContain("\\u001b[2J");
    expect(stderr.trimEnd()).not.toMatch(raw);
  });
});

it.each(['"just text"', "42", '[1, {"a": 2}]', '{"stack": 5}', "true"])(
  "an error that SQL reported as %s is shown",
  async (error) => {
    await db.engine.queuePut("kinds");
    await db.engine.enqueue({ type: "t", queue: "kinds" });
    const { id, token } = await claimOne(db, "kinds");
    await db.sql("select job_fail($1, array[$2::bigint], $3::json)", [token, id, error]);
    for (const args of [
      ["jobs", "show", id],
      ["jobs", "--queue", "kinds"],
    ]) {
      const { stdout, code } = await cli(...args);
      expect(code).toBe(0);
      expect(stdout).toContain(error === '"just text"' ? "just text" : JSON.stringify(JSON.parse(error)));
    }
  },
);

it("only our own styles reach a terminal", () => {
  let shown = "";
  const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => ((shown += chunk.toString()), done()) });
  const stream = Object.assign(sink, {
    isTTY: true,
    hasColors: () => true,
    getColorDepth: () => 8,
    columns: 80,
  }) as unknown as NodeJS.WriteStream;
  const out = new Output(false, stream, stream);
  out.event("e", {}, `${out.style("red", "✘")} \u001B[31mmine\nforged`);
  out.note("\u001B]0;title\u0007");
  out.result(null, [out.style("bold", `TITLE ${nasty}`), "a\nb"]);
  const unstyled = ["31", "39", "1", "22"].reduce((text, style) => text.replaceAll(`\u001B[${style}m`, ""), shown);
  expect(unstyled).not.toMatch(raw);
  expect(shown).toContain("\\u001b[31mmine\\nforged\n");
  expect(shown).toContain("a\\nb\n");
});
