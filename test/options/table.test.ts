import { readFileSync } from "node:fs";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as attack from "../../chaos/attack/options.js";
import { enqueueCommand } from "../../src/cli/commands/enqueue.js";
import { defineJob } from "../../src/job/define-job.js";
import type { CellOptions, QueueOptions, TypeOptions } from "../../src/job/queue-options.js";
import { type JobDefaults, type JobOptions, jobOptionKeys } from "../../src/job/job-options.js";
import { jobOptionsOf } from "../../src/client/schedules.js";
import { type Option, type OptionName, type Scope, optionTable, optionsOf } from "../../src/db/option-table.js";
import type {
  ClaimOptions,
  Defaults,
  EnqueueOptions,
  GroupOptions,
  ResourceOptions,
  Retention,
} from "../../src/db/types.js";

type Row = (typeof optionTable)[number];
type LibraryName<One> = One extends { library: infer Name extends string }
  ? Name
  : One extends { name: infer Name extends string }
    ? Name
    : never;
/** Those of a job that everybody may give. */
type OfLibrary = Exclude<Extract<Row, { name: OptionName<"job"> }>, { door: "sql" | "engine" }>;

type OfScope<Of extends Scope> = Extract<Row, { name: OptionName<Of> }>;

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const names = (options: readonly Option[]): string[] => options.map(({ name }) => name).toSorted();
const listed = (text: string | undefined): string[] => (text ?? "").split(/,\s*/).toSorted();

describe("interfaces that people read have the options of the table [#34]", () => {
  // the compiler compares; nothing of it is left when it runs
  it("of the engine", () => {
    expectTypeOf<keyof EnqueueOptions>().toEqualTypeOf<Exclude<OptionName<"job">, "type" | "payloadSize">>();
    expectTypeOf<keyof Defaults>().toEqualTypeOf<OptionName<"queue" | "type">>();
    expectTypeOf<keyof (Defaults & Retention)>().toEqualTypeOf<OptionName<"queue" | "type" | "cell">>();
    expectTypeOf<keyof Retention>().toEqualTypeOf<Exclude<OptionName<"cell">, OptionName<"queue" | "type">>>();
    expectTypeOf<keyof GroupOptions>().toEqualTypeOf<OptionName<"group">>();
    expectTypeOf<keyof ResourceOptions>().toEqualTypeOf<OptionName<"resource">>();
    expectTypeOf<Extract<keyof ClaimOptions, `lease${string}`>>().toEqualTypeOf<
      Extract<OptionName<"queue">, `lease${string}`>
    >();
    expect(names(optionsOf("group"))).toEqual(["maxRunning", "rate", "weight"]);
  });

  it("of the library", () => {
    expectTypeOf<keyof JobOptions>().toEqualTypeOf<LibraryName<OfLibrary>>();
    expectTypeOf<keyof JobDefaults>().toEqualTypeOf<LibraryName<Extract<OfLibrary, { isDefinable: true }>>>();
    expect([...jobOptionKeys]).toContain("retryDelay");
    expectTypeOf<keyof QueueOptions>().toEqualTypeOf<LibraryName<OfScope<"queue">>>();
    expectTypeOf<keyof TypeOptions>().toEqualTypeOf<LibraryName<OfScope<"type">>>();
    expectTypeOf<keyof CellOptions>().toEqualTypeOf<LibraryName<OfScope<"cell">>>();
  });

  it("and their choices", () => {
    type Choices<Name> = Extract<Row, { name: Name; kind: { is: "choice" } }>["kind"]["of"][number];
    expectTypeOf<NonNullable<EnqueueOptions["fingerprintMode"]>>().toEqualTypeOf<Choices<"fingerprintMode">>();
    expectTypeOf<NonNullable<Defaults["ordered"]>>().toEqualTypeOf<Choices<"ordered">>();
    expectTypeOf<NonNullable<Defaults["onFailure"]>>().toEqualTypeOf<Choices<"onFailure">>();
    expectTypeOf<NonNullable<Defaults["lostAlone"]>>().toEqualTypeOf<Choices<"lostAlone">>();
  });
});

describe("SQL that names options has those of the table", () => {
  it("where the options of a job become columns", () => {
    const columns = /json_to_recordset\(p_options\) as \(([\s\S]+?)\)\) with ordinality/.exec(
      read("sql/enqueue/plan_resolve.sql"),
    )?.[1];
    const found = listed(columns?.trim()).map((column) => column.split(" ")[0]!.replaceAll('"', ""));
    expect(found.toSorted()).toEqual(names(optionsOf("job")));
  });

  it("where groups and resources are set", () => {
    const ofGroup = /keys_check\('a group', p_options, '\{([\w,]+)\}'/.exec(read("sql/groups/group_put.sql"))?.[1];
    const ofResource = /keys_check\('a resource', p_options, '\{([\w,]+)\}'/.exec(
      read("sql/queue/resource_put.sql"),
    )?.[1];
    expect(listed(ofGroup)).toEqual(names(optionsOf("group")));
    expect(listed(ofResource)).toEqual(names(optionsOf("resource")));
  });

  it("where a schedule refuses what names a time", () => {
    const refused = /jsonb_object_keys\(p_job\) k\s+where k in \(([^)]+)\)/.exec(
      read("sql/schedule/schedule_check.sql"),
    )?.[1];
    expect(listed(refused?.replaceAll("'", ""))).toEqual(names(optionTable.filter((one: Option) => one.isTimed)));
  });
});

describe("others that name options", () => {
  const ofLibrary = optionsOf("job").filter(({ door }) => door === undefined);

  it("a definition takes those that it may have, and no others", () => {
    for (const { name, library = name, isDefinable } of ofLibrary) {
      const act = () => defineJob("t", { [library]: undefined });
      if (isDefinable) expect(act, library).not.toThrow();
      else expect(act, library).toThrow(`unknown option "${library}"`);
    }
  });

  it("a schedule takes those that name no time, and are JSON", () => {
    for (const { name, library = name, isTimed } of ofLibrary) {
      const act = () => jobOptionsOf({ [library]: undefined });
      if (isTimed || name === "payload" || name === "contentType") expect(act, library).toThrow("unknown option");
      else expect(act, library).not.toThrow();
    }
  });

  it("the command line calls them what the library does", () => {
    const others = new Set(["count", "url", "schema"]);
    for (const name of Object.keys(enqueueCommand.options))
      if (!others.has(name)) expect(jobOptionKeys).toContain(name);
  });

  it("the attack on all ways in knows all of them", () => {
    const own = new Set(["type", "payload", "payloadSize"]);
    expect(Object.keys(attack.jobMembers).toSorted()).toEqual(
      names(optionsOf("job").filter(({ name }) => !own.has(name))),
    );
    expect(Object.keys(attack.typeMembers).toSorted()).toEqual(names(optionsOf("type")));
    expect(Object.keys(attack.queueMembers).toSorted()).toEqual(names(optionsOf("queue")));
  });
});
