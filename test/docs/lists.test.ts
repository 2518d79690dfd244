import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as millrace from "../../src/index.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const functions = readdirSync(new URL("../../sql/functions/", import.meta.url))
  .map((file) => read(`sql/functions/${file}`))
  .join("\n");

describe("docs list exactly what the code has", () => {
  it("error codes and classes", () => {
    const documented = [...read("docs/errors.md").matchAll(/^\| (MR\d{3}) \| `(\w+)`/gm)].map(([, code, name]) => `${code} ${name}`);
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
      [...read("docs/options.md").matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name)),
    );
    const jobOptions = /k <> all \('\{([\w,]+)\}'/.exec(functions)?.[1]?.split(",") ?? [];
    const defaults = [...read("sql/functions/options_check.sql").matchAll(/'\{([\w,]+)\}'|v_key = '(\w+)'/g)].flatMap(
      ([, list, one]) => list?.split(",") ?? [one],
    );
    const claim = [...read("src/db/types.ts").matchAll(/export interface ClaimOptions \{([\s\S]*?)\n\}/g)].flatMap(([, body]) =>
      [...body!.matchAll(/readonly (\w+)\?/g)].map(([, name]) => name),
    );
    expect(jobOptions.length).toBeGreaterThan(15);
    expect(claim.length).toBeGreaterThan(5);
    for (const name of [...jobOptions.filter((option) => option !== "type"), ...defaults, ...claim]) expect([...documented]).toContain(name);
  });
});
