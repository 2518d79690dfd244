import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as millrace from "../../src/index.js";
import { bounds } from "../../src/db/limits.js";
import { optionTable } from "../../src/db/option-table.js";
import { queueEventNames, reasonCodes } from "../../src/db/types.js";
import { workerEventNames } from "../../src/worker/worker-events.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const functions = readdirSync(new URL("../../sql/", import.meta.url), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".sql") && !file.startsWith("migrations"))
  .map((file) => read(`sql/${file}`))
  .join("\n");

describe("docs list exactly what the code has", () => {
  it("error codes and classes", () => {
    const documented = [...read("docs/errors.md").matchAll(/^\| (MR\d{3}) \| `(\w+)`/gm)].map(
      ([, code, name]) => `${code} ${name}`,
    );
    const coded = Object.values(millrace)
      .filter((value) => typeof value === "function" && value.prototype instanceof millrace.MillraceError)
      .map((errorClass) => {
        const error = Reflect.construct(errorClass as new (message: unknown) => millrace.MillraceError, [[], []]);
        return `${error.code} ${(errorClass as { name: string }).name}`;
      });
    expect(documented.toSorted()).toEqual(coded.toSorted());
    const raised = new Set([...functions.matchAll(/raise_error\('(MR\d{3})'/g)].map(([, code]) => code));
    for (const code of raised) expect(documented.join()).toContain(code);
  });

  it("options of a job, of a claim and of defaults", () => {
    const documented = new Set(
      [...read("docs/options.md").matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell]) =>
        [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
      ),
    );
    const claim = [
      ...read("src/db/types/claim.ts").matchAll(/export interface ClaimOptions \{([\s\S]*?)\n\}/g),
    ].flatMap(([, body]) => [...body!.matchAll(/readonly (\w+)\?/g)].map(([, name]) => name));
    expect(claim.length).toBeGreaterThan(5);
    for (const name of [...optionTable.map((option) => option.name), ...claim]) expect([...documented]).toContain(name);
  });

  it("options of definitions, clients and workers", () => {
    const documented = [...read("docs/options.md").matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    for (const [file, name] of [
      ["src/job/job-options.ts", "JobDefaults"],
      ["src/job/job-options.ts", "JobOptions"],
      ["src/job/define-job.ts", "JobDefinitionOptions"],
      ["src/client/millrace-options.ts", "MillraceOptions"],
      ["src/client/millrace.ts", "EnqueueCallOptions"],
      ["src/worker/worker-options.ts", "WorkerOptions"],
      ["src/client/schedules.ts", "ScheduleOptions"],
      ["src/db/schedule-engine.ts", "SchedulePolicy"],
      ["src/schedule/rule.ts", "RuleOptions"],
    ] as const) {
      const body = new RegExp(`export interface ${name}[^{]*\\{([\\s\\S]*?)\\n\\}`).exec(read(file))?.[1] ?? "";
      const options = [...body.matchAll(/^ {2}readonly (\w+)\?/gm)].map(([, option]) => option);
      expect(options.length, name).toBeGreaterThan(0);
      for (const option of options) expect(documented, name).toContain(option);
    }
  });

  it("schedules: rules, options with their defaults, and events", () => {
    const page = read("docs/schedules.md");
    const kinds = /v_kinds constant text\[\] := '\{([\w,]+)\}'/.exec(functions)![1]!.split(",");
    for (const kind of kinds) expect(page).toContain(`| \`{ ${kind}: `);
    const options = /k <> all \('\{(overlap[\w,]+)\}'/
      .exec(functions)![1]!
      .split(",")
      .filter((option) => option !== "cancelStops");
    for (const option of options) expect(page).toMatch(new RegExp(`^(\\| \`${option}\`|## .*: \`${option}\`$)`, "m"));
    const [, union] = /readonly event:\s+([^;]+);/.exec(read("src/db/schedule-engine.ts"))!;
    const events = [...union!.matchAll(/"(\w+)"/g)].map(([, name]) => name!);
    const rows = page
      .split("\n## Events\n")[1]!
      .split("\n## ")[0]!
      .matchAll(/^\| (`[^|]+)\|/gm);
    expect(
      [...rows].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)).toSorted(),
    ).toEqual(events.toSorted());
  });

  it("limits of steps, signals, children and flows", () => {
    const table = read("docs/steps.md").split("\n## Limits\n")[1]!.split("\n## ")[0]!;
    const stated = [...table.matchAll(/^\| (\S+) .* \| ([\d,]+)/gm)].map(([, what, most]) => [
      what,
      Number(most!.replaceAll(",", "")),
    ]);
    expect(stated).toEqual([
      ["value", bounds.stepBytes / 2 ** 20],
      ["name", bounds.nameLength],
      ["records", bounds.runSteps],
      ["all", bounds.runBytes / 2 ** 20],
      ["children", bounds.children],
      ["jobs", bounds.edges],
      ["signals", bounds.signals],
      ["one", bounds.seconds],
      ["input", bounds.inputBytes / 2 ** 20],
    ]);
  });

  it("what the events of workers carry", () => {
    const [, type] = /interface WorkerEvents \{\n([\s\S]*?)\n\}/.exec(read("src/worker/worker-events.ts"))!;
    const inCode = [...type!.matchAll(/^ {2}(\w+): \[(.*)\];$/gm)].map(([, name, types]) => [
      name!,
      [...types!.matchAll(/(\w+): /g)].map(([, word]) => word!.replace("Seconds", " in seconds")).join(", "),
    ]);
    const [, table] = /\n## Events\n([\s\S]*?)\n## /.exec(read("docs/observability.md"))!;
    const told = [...table!.matchAll(/^\| `(\w+)` \| (.*?) ?\|/gm)].map(([, name, words]) => [name!, words!]);
    expect(told.length).toBeGreaterThan(10);
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(inCode));
  });

  it("metrics and events of workers and queues", () => {
    const listed = (heading: string, text = read("docs/observability.md")): string[] =>
      [
        ...text
          .split(`## ${heading}`)[1]!
          .split("\n## ")[0]!
          .matchAll(/^\| `(\w+)` \|/gm),
      ].map(([, name]) => name!);
    expect(listed("Metrics").toSorted()).toEqual(Object.values(millrace.metricNames).toSorted());
    expect(listed("Events").toSorted()).toEqual([...workerEventNames].toSorted());
    const added = [...functions.matchAll(/queue_event_add\([\w.]+, '(\w+)'/g)].map(([, name]) => name!);
    expect([...new Set(added)].toSorted()).toEqual([...queueEventNames].toSorted());
    expect(listed("Events", read("docs/queue-states.md")).toSorted()).toEqual([...queueEventNames].toSorted());
    expect(listed("Reasons", read("docs/queue-states.md")).toSorted()).toEqual([...reasonCodes].toSorted());
    for (const code of reasonCodes) expect(functions, "SQL tells it").toMatch(new RegExp(`'${code}'|"${code}"`));
  });
});
