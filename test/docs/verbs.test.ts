import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { commands } from "../../src/cli/table.js";
import { Jobs } from "../../src/client/jobs.js";
import { Queues } from "../../src/client/queues.js";
import { Resources } from "../../src/client/resources.js";
import { Schedules } from "../../src/client/schedules.js";
import { Cell } from "../../src/client/cell.js";
import { Types } from "../../src/client/types.js";
import { Cells } from "../../src/cells/cells.js";
import { Alerts } from "../../src/client/alerts.js";
import { Workers } from "../../src/client/workers.js";
import { Millrace } from "../../src/client/with-workers.js";
import { Engine } from "../../src/db/engine.js";
import { ScheduleEngine } from "../../src/db/schedule-engine.js";
import { routes } from "../../src/server/api/routes/index.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const page = read("docs/verbs.md");
const names = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

/** The rows of the table: what each column names. */
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => {
    const [sql, engine, client, http, command] = line.slice(1, -1).split("|").map(names);
    return { sql: sql!, engine: engine!, client: client!, http: http!, command: command! };
  });
const alone = page
  .split("Without a counterpart:")[1]!
  .split("\n- ")
  .slice(1)
  .map((line) => names(line.slice(line.indexOf(":"))));

/** All that may be called of a class, inherited ones too. What is marked as internal is not for users. */
function methodsOf(of: { readonly prototype: object }, prefix = "", internal: readonly string[] = []): string[] {
  const found: string[] = [];
  for (let at = of.prototype; at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
    found.push(...Object.getOwnPropertyNames(at));
  return found.filter((name) => name !== "constructor" && !internal.includes(name)).map((name) => prefix + name);
}

const granted = [...read("sql/access/role_grant.sql").matchAll(/constant text\[\] := '\{([^}]+)\}'/g)]
  .flatMap(([, list]) => list!.split(","))
  .map((name) => name.trim())
  .filter((name) => !name.startsWith("sqs_"));
const views = readdirSync(new URL("../../sql/views/", import.meta.url))
  .filter((file) => file.endsWith(".sql"))
  .flatMap((file) => [...read(`sql/views/${file}`).matchAll(/create or replace view (\w+)/g)].map(([, name]) => name!));

/** In letters alone, so that `queue_set_aside`, `queueSetAside` and `queues set-aside` can be compared. */
const letters = (name: string): string => name.replaceAll(/[^a-zA-Z]/g, "").toLowerCase();

/** What a name may be said as: whole, without its noun, and without `where` or `many`. */
function wordsOf(sql: string): string[] {
  const verb = sql.slice(sql.indexOf("_") + 1);
  const reads = views.includes(sql) || verb === "get" || verb === "list" ? ["get", "list", "show"] : [];
  return [sql, verb, verb.replace(/_(where|many)$/, ""), ...reads, ...(more[sql] ?? [])].map(letters);
}

/** Where a name has company, or is said by what it gives. */
const more: Readonly<Record<string, readonly string[]>> = {
  job_enqueue: ["enqueueStream", "stream"],
  job_enqueue_many: ["enqueueEach", "many"],
  job_list: ["jobs", "flows"],
  job_count: ["counts"],
  job_outcomes: ["result"],
  job_of: ["liveJobOf"],
  job_complete: ["completeMany"],
  job_settle: ["settleAndClaim"],
  job_answer: ["answers"],
  steps_get: ["runsGet"],
  payload_read: ["payloadStream", "payload"],
  progress_put: ["progress"],
  queue_depth: ["get"],
  flow_enqueue: ["flow"],
  schedule_put: ["schedule", "repeat"],
  calendars: ["blockedDays"],
  workers: ["processes"],
  history_get: ["history"],
};
const methodWords: Readonly<Record<string, readonly string[]>> = {
  GET: ["get", "list"],
  PUT: ["put"],
  DELETE: ["remove"],
  POST: ["enqueue", "claim"],
};

/** The ways to read the name of a method or a command: `stageRelease` of `mill.queues.stageRelease`. */
const readings = (name: string): string[] => [name, name.slice(name.lastIndexOf(".") + 1), name.replace(/^\w+ /, "")];

/** A route ends with its verb, or says it by its method. */
function readingsOfRoute(route: string): readonly string[] {
  const [method, path] = route.split(" ") as [string, string];
  const [last, ...before] = path.split("/").toReversed() as [string, ...string[]];
  const noun = before.find((part) => !part.startsWith("{"));
  return [last, ...(last.startsWith("{") ? [noun!] : []), ...methodWords[method]!];
}

describe("docs/verbs.md", () => {
  it("names all functions, methods, routes and commands, and nothing else", () => {
    const [functions, engine, client, http, command] = (["sql", "engine", "client", "http", "command"] as const).map(
      (column, n) => new Set([...rows.flatMap((row) => row[column]), ...alone[n]!]),
    );
    const public_ = [...granted, "role_grant"];
    expect([...functions!].filter((name) => !views.includes(name)).toSorted()).toEqual(public_.toSorted());
    expect([...engine!].toSorted()).toEqual(
      [...methodsOf(Engine), ...methodsOf(ScheduleEngine, "schedules.")].toSorted(),
    );
    expect([...client!].toSorted()).toEqual(
      [
        ...methodsOf(Millrace, "mill."),
        ...methodsOf(Jobs, "mill.jobs."),
        ...methodsOf(Queues, "mill.queues."),
        ...methodsOf(Resources, "mill.resources."),
        ...methodsOf(Types, "mill.types."),
        ...methodsOf(Cell, "mill.cell."),
        ...methodsOf(Cells, "mill.cells."),
        ...methodsOf(Workers, "mill.workers."),
        ...methodsOf(Alerts, "mill.alerts."),
        ...methodsOf(Schedules, "mill.schedules.", ["declare", "mustBeKnown"]),
      ].toSorted(),
    );
    expect([...http!].toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
    expect([...command!].toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
  });

  it.each(rows)("$sql keeps its name through the layers", ({ sql, engine, client, http, command }) => {
    const words = wordsOf(sql[0]!);
    const isSaid = (said: readonly string[]): boolean => said.some((word) => words.includes(letters(word)));
    for (const name of [...engine, ...client, ...command]) expect(isSaid(readings(name)), name).toBe(true);
    for (const route of http) expect(isSaid(readingsOfRoute(route)), route).toBe(true);
  });
});
