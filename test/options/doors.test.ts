import { Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Command } from "../../src/cli/command.js";
import { enqueueCommand } from "../../src/cli/commands/enqueue.js";
import { groupsPutCommand } from "../../src/cli/commands/groups-put.js";
import { limitsPutCommand } from "../../src/cli/commands/limits-put.js";
import { queuesPutCommand } from "../../src/cli/commands/queues-put.js";
import { Output } from "../../src/cli/output.js";
import { parse } from "../../src/cli/parse.js";
import { defineJob } from "../../src/job/define-job.js";
import type { JobOptions } from "../../src/job/job-options.js";
import { Millrace } from "../../src/client/with-workers.js";
import { type Option, type Scope, optionTable, optionsOf } from "../../src/db/option-table.js";
import { useServer } from "../server/api/server.js";
import { examplesOf } from "./examples.js";

const server = useServer();
const { db } = server;
let mill: Millrace;
let made = 0;
const newName = (): string => `n${(made += 1)}`;

beforeAll(async () => {
  mill = new Millrace({ connection: db.pool });
  await db.engine.resourcePut("r", { maxRunning: 1_000_000_000 });
});
afterAll(() => mill.close());

/** Give one value by one way in: nothing when it was accepted, else the code of the refusal. */
type Door = (option: Option, value: unknown) => Promise<string | undefined>;

async function codeOf(act: Promise<unknown>): Promise<string | undefined> {
  try {
    await act;
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** What else a job must have to have this. */
function companions(name: string, value: unknown): Record<string, unknown> {
  if (name === "schedule") return { slotAt: "2030-01-01T00:00:00Z" };
  if (name === "slotAt") return { schedule: newName() };
  if (value === "computed") return { attemptTimeoutSeconds: 1 };
  return {};
}

const sql = (text: string, ...values: unknown[]): Promise<string | undefined> =>
  codeOf(
    db.sql(
      text,
      values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))),
    ),
  );

async function http(method: string, path: string, body: unknown): Promise<string | undefined> {
  const answer = await server.ask(method, path, body);
  return answer.status === 200 ? undefined : (answer.body as { code: string }).code;
}

const nowhere = (): NodeJS.WriteStream =>
  new Writable({ write: (_chunk, _encoding, done) => done() }) as unknown as NodeJS.WriteStream;

/** A command, as people type it. */
async function cli(command: Command, ...argv: string[]): Promise<string | undefined> {
  const run = async (): Promise<void> => {
    const parsed = parse([...command.name.split(" "), ...argv, `--url=${db.url}`], [command]);
    if (parsed.kind !== "run") throw new Error("it was not understood");
    const { args, options } = parsed;
    await command.run({ args, options, out: new Output(false, nowhere(), nowhere()), commands: [command] });
  };
  return codeOf(run());
}

/** The same as the library has it: milliseconds instead of seconds. */
function inLibrary({ library, kind }: Option, value: unknown): unknown {
  if (library === undefined) return value;
  if (typeof value === "number") return value * 1000;
  if (kind.is !== "retry" || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => (one as number) * 1000);
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, ["base", "cap"].includes(key) ? (part as number) * 1000 : part]),
  );
}

/** The same for a queue, whose breaker and rules have durations inside. */
function inQueueLibrary(option: Option, value: unknown): unknown {
  const isObject = (it: unknown): it is Record<string, unknown> => typeof it === "object" && it !== null;
  const ms = (it: unknown): unknown => (typeof it === "number" ? it * 1000 : it);
  const renamed = (it: Record<string, unknown>, names: Record<string, readonly [string, (it: unknown) => unknown]>) =>
    Object.fromEntries(
      Object.entries(it).map(([key, part]) => (names[key] ? [names[key][0], names[key][1](part)] : [key, part])),
    );
  if (option.name === "breaker" && isObject(value) && !Array.isArray(value))
    return renamed(value, {
      withinSeconds: ["within", ms],
      pauseSeconds: ["pause", ms],
      pauseCapSeconds: ["pauseCap", ms],
    });
  if (option.name === "errorRules" && Array.isArray(value)) {
    const retry = { library: "retryDelay", kind: { is: "retry" } } as Option;
    return value.map((rule) =>
      isObject(rule)
        ? renamed(rule, {
            delays: ["delays", (delays) => (Array.isArray(delays) ? delays.map(ms) : delays)],
            retry: ["retryDelay", (delay) => inLibrary(retry, delay)],
          })
        : rule,
    );
  }
  return inLibrary(option, value);
}

function libraryOptions(option: Option, value: unknown): JobOptions {
  const more = "attemptTimeoutSeconds" in companions(option.name, value) ? { attemptTimeout: "1s" } : {};
  const of = option.kind.is === "time" && typeof value === "string" ? new Date(value) : inLibrary(option, value);
  return { ...more, [option.library ?? option.name]: of };
}

/** What the cell was told holds for everybody: it is put back. */
async function putBack(name: string, given: Promise<string | undefined>): Promise<string | undefined> {
  const code = await given;
  if (code === undefined) await db.engine.cellPut({ [name]: null });
  return code;
}

/** What the command line calls those that it has. */
const typed = new Set(Object.keys(enqueueCommand.options));
const isText = (value: unknown): boolean => typeof value === "string" || typeof value === "number";

function typedEnqueue(option: Option, value: unknown): Promise<string | undefined> {
  const text = option.library === undefined ? String(value) : `${String(value)}s`;
  return cli(enqueueCommand, "t", `--${option.library ?? option.name}=${text}`);
}

const doors: Readonly<Record<Scope, Readonly<Record<string, Door>>>> = {
  job: {
    "SQL, one": ({ name }, value) =>
      sql("select job_enqueue('t', '1', $1)", { ...companions(name, value), [name]: value }),
    "SQL, many": ({ name }, value) =>
      sql("select job_enqueue_many('[1, 2]', $1)", { type: "t", ...companions(name, value), [name]: value }),
    "SQL, each": ({ name }, value) =>
      sql("select job_enqueue_many('[1]', $1)", [{ type: "t", ...companions(name, value), [name]: value }]),
    engine: ({ name }, value) => codeOf(db.engine.enqueue({ type: "t", ...companions(name, value), [name]: value })),
    "engine, each": ({ name }, value) =>
      codeOf(db.engine.enqueueEach([{ type: "t", ...companions(name, value), [name]: value }])),
    library: (option, value) => codeOf(mill.enqueue("t", 1, libraryOptions(option, value))),
    // what is wrong with values may be told when the job is enqueued
    definition: (option, value) =>
      codeOf((async () => mill.enqueue(defineJob(newName(), libraryOptions(option, value)), 1))()),
    HTTP: ({ name }, value) => http("POST", "/jobs", { type: "t", ...companions(name, value), [name]: value }),
    "command line": typedEnqueue,
  },
  queue: {
    SQL: ({ name }, value) => sql("select queue_put($1, $2)", newName(), { [name]: value }),
    engine: ({ name }, value) => codeOf(db.engine.queuePut(newName(), { [name]: value })),
    library: (option, value) =>
      codeOf(mill.queues.put(newName(), { [option.library ?? option.name]: inQueueLibrary(option, value) })),
    HTTP: ({ name }, value) => http("PUT", `/queues/${newName()}`, { [name]: value }),
    "command line": ({ name }, value) => cli(queuesPutCommand, newName(), JSON.stringify({ [name]: value })),
  },
  type: {
    SQL: ({ name }, value) => sql("select type_put($1, $2)", newName(), { [name]: value }),
    engine: ({ name }, value) => codeOf(db.engine.typePut(newName(), { [name]: value })),
    library: (option, value) =>
      codeOf(mill.types.put(newName(), { [option.library ?? option.name]: inQueueLibrary(option, value) })),
  },
  cell: {
    SQL: ({ name }, value) => putBack(name, sql("select cell_put($1)", { [name]: value })),
    engine: ({ name }, value) => putBack(name, codeOf(db.engine.cellPut({ [name]: value }))),
    library: (option, value) =>
      putBack(option.name, codeOf(mill.cell.put({ [option.library ?? option.name]: inQueueLibrary(option, value) }))),
  },
  group: {
    SQL: ({ name }, value) => sql("select group_put('default', 'g', $1)", { [name]: value }),
    engine: ({ name }, value) => codeOf(db.engine.groupPut("default", "g", { [name]: value })),
    HTTP: ({ name }, value) => http("PUT", "/queues/default/groups/g", { [name]: value }),
    "command line": ({ name }, value) => cli(groupsPutCommand, "default", "g", `--${name}=${String(value)}`),
  },
  resource: {
    SQL: ({ name }, value) => sql("select resource_put($1, $2)", newName(), { [name]: value }),
    engine: ({ name }, value) => codeOf(db.engine.resourcePut(newName(), { [name]: value })),
    HTTP: ({ name }, value) => http("PUT", `/resources/${newName()}`, { [name]: value }),
    "command line": (_, value) => cli(limitsPutCommand, `--resource=${newName()}`, `--max-running=${String(value)}`),
  },
};

/** Whether a way in has an option, and can carry this value. */
function takes(door: string, option: Option, scope: Scope, value: unknown): boolean {
  const { name, kind } = option;
  // the type is an argument of its own; where all jobs share a type and a queue alone, JSON's text is the name
  if (door === "SQL, one" && name === "type") return false;
  if ((door === "SQL, one" || door === "SQL, many") && ["type", "queue"].includes(name)) return isText(value);
  if (door.startsWith("SQL")) return true;
  if (option.door === "sql") return false;
  if (door.startsWith("engine")) return true;
  if (option.door !== undefined) return false;
  if (door === "definition") return option.isDefinable === true;
  if (door !== "command line" || scope === "queue") return true;
  if (!isText(value)) return false;
  if (scope === "job") return typed.has(option.library ?? name) && value !== "";
  return scope === "group" ? name === "weight" : name === "maxRunning" && kind.is === "integer";
}

const cases = optionTable.flatMap((option: Option) =>
  (option.kind.is === "bytes" ? [] : option.of).map((scope) => [option.name, scope, option] as const),
);

describe("an option is accepted in its range, and refused out of it, by everybody alike", () => {
  it.each(cases)("%s of a %s [#34]", async (name, scope, option) => {
    const { good, bad } = examplesOf(option, scope);
    for (const [door, give] of Object.entries(doors[scope])) {
      for (const value of good) {
        if (!takes(door, option, scope, value)) continue;
        const told = `${door} takes ${JSON.stringify(value).slice(0, 100)}`;
        expect(await give(option, value), told).toBeUndefined();
      }
      for (const value of bad) {
        if (!takes(door, option, scope, value)) continue;
        // what does not fit below the limit of payloads is too large, whoever says so
        const code = name === "payloadSize" && value === 256_000_000 ? "MR004" : "MR001";
        expect(await give(option, value), `${door} refuses ${JSON.stringify(value).slice(0, 100)}`).toBe(code);
      }
    }
  });

  it("payload of a job, which each carries in its own way", async () => {
    expect(await sql("select job_enqueue('t', '1', $1)", { payload: "YWJj" })).toBeUndefined();
    expect(await sql("select job_enqueue('t', '1', $1)", { payload: {} })).toBe("MR001");
    expect(await sql("select job_enqueue('t', '1', $1)", { payload: "§" })).toBe("MR001");
    const text = "abc" as unknown as Uint8Array;
    expect(await codeOf(db.engine.enqueue({ type: "t", payload: Buffer.from("abc") }))).toBeUndefined();
    expect(await codeOf(db.engine.enqueue({ type: "t", payload: text }))).toBe("MR001");
    expect(await codeOf(mill.enqueue("t", 1, { payload: Buffer.from("abc") }))).toBeUndefined();
    expect(await codeOf(mill.enqueue("t", 1, { payload: text }))).toBe("MR001");
    expect(await http("POST", "/jobs", { type: "t", payloadBase64: "YWJj" })).toBeUndefined();
    expect(await http("POST", "/jobs", { type: "t", payloadBase64: "§" })).toBe("MR001");
    expect(await http("POST", "/jobs", { type: "t", payload: "YWJj" })).toBe("MR001");
  });
});

describe("an option that something may not have", () => {
  const scopes = ["queue", "type", "cell"] as const;
  const foreign = scopes.flatMap((scope) =>
    optionsOf(...scopes)
      .filter((option) => !option.of.includes(scope))
      .map((option) => [option.name, scope, option] as const),
  );
  it.each(foreign)("%s of a %s is refused, with where it belongs", async (name, scope, option) => {
    const [value] = examplesOf(option, scope).good;
    for (const [door, give] of Object.entries(doors[scope])) expect(await give(option, value), door).toBe("MR001");
    const put = { queue: "queue_put('q', $1)", type: "type_put('t', $1)", cell: "cell_put($1)" }[scope];
    const words = { queue: "a queue", type: "a type", cell: "the cell" };
    const [first] = option.of.filter((one) => one in words) as (keyof typeof words)[];
    await expect(db.sql(`select ${put}`, [JSON.stringify({ [name]: value })])).rejects.toMatchObject({
      code: "MR001",
      message: `${name} cannot be set here`,
      hint: expect.stringContaining(`set it for ${words[first!]}`),
    });
  });

  it.each(Object.keys(doors) as Scope[])("one that there is not, of a %s, is refused", async (scope) => {
    const nonsense = { name: "nonsense", of: [scope], kind: { is: "retry" }, default: "", doc: "" } as const;
    for (const [door, give] of Object.entries(doors[scope])) {
      if (door === "command line" && scope === "resource") continue; // it always gives the one it has
      expect(await give(nonsense, door === "command line" ? "1" : 1), door).toBe("MR001");
    }
  });
});

describe("an integer that is written with a point, which SQL alone can do", () => {
  // what reads it later would fail: each enqueue, claim or report
  it.each([
    ["queue_put('q', $1)", '{"maxDepth": 5.0}'],
    ["queue_put('q', $1)", '{"deadLetterAfter": 5.0}'],
    ["queue_put('q', $1)", '{"maxRunning": 1.0}'],
    ["queue_put('q', $1)", '{"priority": 5.0}'],
    ["queue_put('q', $1)", '{"breaker": {"failures": 5.0}}'],
    ["queue_put('q', $1)", '{"resources": {"r": 1.0}}'],
    ["group_put('default', 'g', $1)", '{"maxRunning": 1.0}'],
    ["resource_put('r', $1)", '{"maxRunning": 1.0}'],
    ["cell_put($1)", '{"payloadLimitBytes": 5.0}'],
    ["cell_put($1)", '{"payloadLimitBytes": "many"}'],
    ["schedule_put('s', '{\"every\": 1000}', '{\"type\": \"t\"}', null, $1)", '{"maxRuns": 5.0}'],
    ["schedule_put('s', '{\"every\": 1000}', '{\"type\": \"t\"}', null, $1)", '{"missed": {"all": 5.0}}'],
  ])("%s with %s is refused", async (call, options) => {
    await expect(db.sql(`select ${call}`, [options])).rejects.toMatchObject({ code: "MR001" });
  });
});
