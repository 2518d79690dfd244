import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { compileBlocks } from "../../scripts/check-docs.mjs";
import { Millrace } from "../../src/client/millrace.js";
import { translateError } from "../../src/db/errors.js";
import { defineJob } from "../../src/job/define-job.js";
import { problemOf } from "../../src/server/api/problem.js";
import { createTestMill } from "../../src/testing/index.js";
import { millrace } from "../cli/cli.js";
import { useMill } from "../support/mill.js";

// Each message is told as docs/errors.md says: the table there is read, the mistakes are made here.
const test = useMill();
const job = defineJob("job");
const role = `millrace_mistaken_${process.pid}`;
const [, atRunTime, byCompiler] = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8").split(
  /^\| mistake \| .*\n\|---\|---\|\n/m,
);
const rowsOf = (table: string): (readonly [string, string])[] =>
  [...table.matchAll(/^\| ((?:[^|\\]|\\.)+) \| ((?:[^|\\]|\\.)+) \|$/gm)].map(
    ([, mistake, message]) => [mistake!, message!.replaceAll("\\|", "|")] as const,
  );
const told = new Map(rowsOf(atRunTime!));
const made = new Set<string>();

beforeAll(async () => {
  await test.db.sql(`create role ${role} login password 'right'`);
});
afterAll(async () => {
  await test.db.sql(`drop role ${role}`);
});

function urlWith(change: (url: URL) => void): string {
  const url = new URL(test.db.url);
  change(url);
  return url.href;
}

async function enqueueAt(connection: string | pg.PoolConfig, schema?: string): Promise<unknown> {
  const mill = test.open({ connection, ...(schema === undefined ? {} : { schema }) });
  return mill.enqueue(job, null);
}

const mistakes: Record<string, () => unknown> = {
  "no database at all": () => {
    const cwd = process.cwd();
    process.chdir(tmpdir()); // where no millrace dev runs
    vi.stubEnv("DATABASE_URL", undefined);
    try {
      return new Millrace();
    } finally {
      vi.unstubAllEnvs();
      process.chdir(cwd);
    }
  },
  "a wrong password": () => enqueueAt(urlWith((url) => ((url.username = role), (url.password = "wrong")))),
  "no password": () => {
    throw translateError(new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"));
  },
  "a database that does not exist": () => enqueueAt(urlWith((url) => (url.pathname = "/nowhere"))),
  "a role without rights": () => enqueueAt(urlWith((url) => ((url.username = role), (url.password = "right")))),
  "a schema that is not there": () =>
    test
      .open({ schema: "nowhere" })
      .worker()
      .handle(job, () => {})
      .start(),
  "a queue that does not exist, in TypeScript": () => test.mill.enqueue(job, null, { queue: "mial" }),
  "the same on the command line": async () => {
    const { stderr } = await millrace(["enqueue", "job", "--queue", "mial"], { url: test.db.url });
    throw new Error(stderr.trim().replace(/^millrace: /, ""));
  },
  "the same over HTTP": async () => {
    const error = await test.mill.enqueue(job, null, { queue: "mial" }).catch((thrown: unknown) => thrown);
    const { detail, remedy } = problemOf(error, "1")!.problem;
    throw new Error(`${detail}, with the remedy: ${remedy}`);
  },
  "`retryLimit`": () => defineJob("x", { retryLimit: 3 } as object),
  "`txn`": () => test.mill.enqueue(job, null, { txn: test.db.pool } as object),
  "`delay` and `runAt`": () => test.mill.enqueue(job, null, { delay: "1m", runAt: new Date() }),
  "a pool as `tx`": () => test.mill.enqueue(job, null, { tx: test.db.pool as never }),
  "a call after `close()`": async () => {
    const mill = test.open();
    await mill.close();
    await mill.enqueue(job, null);
  },
  "the result of a job that is not committed": async () => {
    const tx = await test.db.connect();
    await tx.query("begin");
    const { id } = await test.mill.enqueue(job, null, { tx });
    await test.mill
      .result(id)
      .catch((error: Error) => {
        throw new Error(error.message.replace(id, "ID"), { cause: error });
      })
      .finally(() => tx.query("rollback"));
  },
  "a type that no worker handles, from `millrace doctor`": async () => {
    await test.mill.enqueue("reszie", null);
    const { stdout } = await millrace(["doctor", "--json"], { url: test.db.url });
    const { findings } = JSON.parse(stdout) as { findings: { check: string; message: string; remedy: string }[] };
    const { message, remedy } = findings.find(({ check }) => check === "handlers")!;
    throw new Error(`${message} (${remedy})`);
  },
  "a worker without handlers": () => test.mill.worker().start(),
  "a logger that is none": () => new Millrace({ connection: test.db.url, logger: "pino" as never }),
  "`createTestMill` on a live schema": async () => {
    await test.db.sql("create schema somebodys");
    await createTestMill({ url: test.db.url, schema: "somebodys" });
  },
};

describe("a common mistake is told what to do", () => {
  it.each(Object.entries(mistakes))("%s [#112]", async (mistake, make) => {
    made.add(mistake);
    const error = await Promise.resolve()
      .then(make)
      .then(
        () => new Error("nothing was refused"),
        (thrown: unknown) => thrown as Error,
      );
    expect(error.message.replaceAll(role, "app")).toBe(told.get(mistake));
    expect(error.message).not.toContain("\n");
  });

  it("and docs/errors.md lists no other", () => {
    expect([...told.keys()].toSorted()).toEqual(Object.keys(mistakes).toSorted());
    expect(made.size).toBe(told.size);
  });
});

describe("a mistake that the compiler finds", () => {
  const rows = rowsOf(byCompiler!);
  let said: readonly string[];
  beforeAll(() => {
    const blocks = rows.map(([code], line) => ({ file: "mistake", line, code: code.slice(1, -1) }));
    said = compileBlocks(blocks).errors;
  });

  it("is in the table of docs/errors.md", () => expect(rows.length).toBe(6));

  it.each(rows)("%s [#112]", (mistake, message) => {
    const start = said.findIndex((line) => line.startsWith(`mistake:${rows.findIndex(([code]) => code === mistake)}:`));
    const [first, ...more] = said.slice(start);
    const next = more.findIndex((line) => !line.startsWith(" "));
    const lines = [first!, ...more.slice(0, next < 0 ? undefined : next)];
    expect(lines.map((line) => line.replace(/^mistake:\d+: error TS\d+: |^ +/, ""))).toContain(message);
  });
});
