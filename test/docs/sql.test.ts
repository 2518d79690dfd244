import { readFileSync } from "node:fs";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blocksOf } from "../../scripts/check-docs.mjs";
import { useDatabase } from "../support/database.js";

const page = readFileSync(new URL("../../docs/sql.md", import.meta.url), "utf8");
const db = useDatabase();

/** Roles belong to the whole server, which other tests use too: these get names of their own. */
const roles = Object.fromEntries(["web", "jobs"].map((role) => [role, `${role}_${process.pid}_${Date.now()}`]));
const renamed = (text: string): string => text.replaceAll(/(?<![\w.-])(web|jobs)(?![\w.-])/g, (role) => roles[role]!);

interface Statement {
  readonly text: string;
  /** The role of the block, or undefined for the owner of the schema. */
  readonly role: string | undefined;
  /** What `\gset` puts before the names of the columns; undefined where nothing is kept. */
  readonly keepAs: string | undefined;
}

/** The statements of a block as psql would read them: up to a semicolon or a `\gset` that ends a line. */
function statementsOf(block: string): Statement[] {
  const [heading, ...lines] = block.split("\n");
  const as = /^-- as (the owner of the schema|web|jobs)$/.exec(heading!)?.[1];
  const found: Statement[] = [];
  let text = "";
  // without a heading all of the block counts
  for (const line of as ? lines : block.split("\n")) {
    text += `${line}\n`;
    const isQuoted = text.split("$$").length % 2 === 0;
    const end = /(?:;|\s\\gset(?: (?<prefix>\w+))?)\s*(?:--.*)?$/.exec(line);
    if (isQuoted || !end) continue;
    found.push({
      text: text.replace(/\s\\gset.*/, "").trim(),
      role: as && roles[as],
      keepAs: line.includes("\\gset") ? (end.groups?.["prefix"] ?? "") : undefined,
    });
    text = "";
  }
  if (text.trim() !== "") throw new Error(`this does not end with a semicolon: ${text}`);
  return found;
}

interface Answer {
  readonly text: string;
  readonly rows: readonly Record<string, unknown>[];
}

/** Run statements one after another in one session, with the variables that `\gset` keeps. */
async function run(client: pg.Client, statements: readonly Statement[]): Promise<Answer[]> {
  const kept = new Map<string, string>();
  const answers: Answer[] = [];
  for (const { text, role, keepAs } of statements) {
    await client.query(role ? `set role ${role}` : "reset role");
    const filled = text.replaceAll(/(?<!:):('?)(\w+)\1/g, (found, quote: string, name: string) =>
      kept.has(name) ? `${quote}${kept.get(name)}${quote}` : found,
    );
    const { rows } = await client.query(renamed(filled)).catch((error: Error) => {
      throw new Error(`docs/sql.md: ${filled}`, { cause: error });
    });
    answers.push({ text, rows });
    if (keepAs === undefined) continue;
    expect(rows, `one row for \\gset: ${text}`).toHaveLength(1);
    for (const [column, value] of Object.entries<unknown>(rows[0])) kept.set(keepAs + column, String(value));
  }
  return answers;
}

describe("docs/sql.md, from top to bottom", () => {
  const blocks = blocksOf(page, "sql").map(({ code }) => code);
  const statements = blocks.flatMap(statementsOf);
  const notices: string[] = [];
  let answers: Answer[] = [];
  /** What the last statement that has these words returned. */
  const answerTo = (words: string) => answers.findLast(({ text }) => text.includes(words))?.rows;

  beforeAll(async () => {
    const client = await db.connect();
    client.on("notice", ({ message }) => notices.push(message ?? ""));
    await client.query("set search_path to public"); // as in a session of a reader
    answers = await run(client, statements);
    await client.query("reset role");
  });

  afterAll(async () => {
    for (const role of Object.values(roles).filter((name) => /^\w+$/.test(name))) {
      await db.sql(`drop owned by ${role} cascade`);
      await db.sql(`drop role ${role}`);
    }
  });

  it("says at the top of each block which role runs it", () => {
    expect(blocks.length).toBeGreaterThan(12);
    for (const block of blocks) expect(block).toMatch(/^-- as (the owner of the schema|web|jobs)\n/);
  });

  it("runs, with no more rights than it says", () => {
    expect(answers).toHaveLength(statements.length);
    expect(new Set(statements.map(({ role }) => role))).toEqual(new Set([undefined, ...Object.values(roles)]));
  });

  it("shows a duplicate, a lease, and a report that is refused", async () => {
    expect(answers.filter(({ text }) => text.includes("welcome ada")).map(({ rows }) => rows[0]!["duplicate"])).toEqual(
      [false, true],
    );
    expect(answerTo("claim_extend")).toEqual([{ lease_ends_at: expect.any(Date), job_ids: [expect.any(String)] }]);
    const reports = answers.filter(({ text }) => /job_(complete|retry_later|fail|release)\(:'/.test(text));
    const refusals = reports.map(({ rows }) => Object.values(rows[0]!)[0]);
    expect(refusals).toHaveLength(6);
    expect(refusals.slice(0, 5)).toEqual([[], [], [], [], []]);
    expect(refusals[5]).toEqual([expect.any(String)]);
  });

  it("has a worker in SQL that does all there is, and retries what fails", async () => {
    const jobs = () =>
      db.sql("select input ->> 'key' as key, state, last_error from jobs where queue = 'images' order by 1");
    expect((await jobs()).map(({ key, state }) => `${key} ${state}`)).toEqual(
      ["a", "b", "c", "d", "e"].map((name) => `${name}.png succeeded`),
    );
    expect(await db.sql("select key from shop.pictures where width is null")).toEqual([]);

    await db.sql('select job_enqueue(\'resize-image\', \'{"key": "none.png"}\', \'{"queue": "images"}\')');
    await db.sql("call shop.work()");
    expect((await jobs()).at(-1)).toEqual({
      key: "none.png",
      state: "delayed",
      last_error: { name: "P0001", message: "there is no picture none.png" },
    });
  });

  it("has an error whose hint is as the page says", () => {
    const [, said] = /raise notice [^\n]*-- (.*)/.exec(page)!;
    expect(notices).toContain(said);
  });

  it("does upkeep, and delivers a signal, without a complaint", async () => {
    expect(answerTo("maintain(")![0]!["maintain"]).not.toHaveProperty("failed");
    expect(answerTo("job_tell(")).toEqual([{ job_tell: true }]);
    expect(answerTo("notices_deliver()")).toEqual([{ notices_deliver: expect.objectContaining({ more: false }) }]);
  });

  it("names functions and channels that exist", async () => {
    const words = [...page.matchAll(/`(?:select )?([a-z]+_[a-z_]+)(?:\([^`]*\))?`/g)].map(([, name]) => name!);
    const known = new Set(
      (await db.sql("select proname from pg_proc where pronamespace = 'millrace'::regnamespace")).map(
        ({ proname }) => proname,
      ),
    );
    const unknown = words.filter((word) => !known.has(word) && !/^(p_|pg_cron$)/.test(word));
    expect(unknown).toEqual([]);
  });
});

describe("statements as psql reads them", () => {
  it("end with a semicolon or a \\gset, not inside of dollars", () => {
    expect(statementsOf("-- as jobs\nselect 1; -- one\nselect 2 as b \\gset a_\ndo $$\nbegin;\nend $$;")).toEqual([
      { text: "select 1; -- one", role: roles["jobs"], keepAs: undefined },
      { text: "select 2 as b", role: roles["jobs"], keepAs: "a_" },
      { text: "do $$\nbegin;\nend $$;", role: roles["jobs"], keepAs: undefined },
    ]);
    expect(() => statementsOf("-- as jobs\nselect 1")).toThrow("does not end");
  });
});
