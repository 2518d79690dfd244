import { z } from "../zod.js";
import { type Kind, type Option, type OwnKind, type Scope, maxOf, optionsOf } from "../../db/option-table.js";
import { rate } from "./schemas.js";

const maxResources = 100;

/** Counted first: every member of a record is looked at, however many mistakes there are. */
function refuseMany(value: unknown, context: z.RefinementCtx): unknown {
  if (typeof value !== "object" || value === null || Object.keys(value).length <= maxResources) return value;
  context.addIssue({ code: "custom", message: `a job needs at most ${maxResources} resources`, input: undefined });
  return z.NEVER;
}

const part = z.number().optional();
const own: Readonly<Record<OwnKind, z.ZodType>> = {
  bytes: z.string(),
  headers: z.record(z.string(), z.unknown()),
  resources: z.preprocess(refuseMany, z.record(z.string(), z.number())),
  retry: z.union([
    z.number(),
    z.array(z.number()).max(1000),
    z.strictObject({ base: part, factor: part, cap: part, jitter: part }),
  ]),
  errorRules: z.array(z.looseObject({})).max(100),
  breaker: z.looseObject({}),
  rate,
  names: z.array(z.string()).max(100),
  calendar: z.union([z.looseObject({}), z.array(z.looseObject({})).max(100)]),
};

/**
 * The options that one thing may have, from the one table. Kinds are looked at here; ranges are only told: the engine
 * checks them, with the same words for everybody. Where null puts an option back, it may be null.
 */
export function optionSchemas(scope: Scope): Record<string, z.ZodType> {
  return Object.fromEntries(
    optionsOf(scope)
      .filter(({ door, kind }) => door === undefined && kind.is !== "bytes")
      .map((option) => {
        const schema = schemaOf(option, scope === "job");
        const given = scope === "job" ? schema.optional() : schema.nullable().optional();
        return [option.name, given.meta({ description: descriptionOf(option, scope) })];
      }),
  );
}

/** What docs say, without links that lead nowhere from here. */
function descriptionOf({ doc, asDefault, default: usual }: Option, scope: Scope): string {
  const told = scope === "job" ? { doc, default: usual } : (asDefault ?? { doc, default: usual });
  return `${told.doc} (default ${told.default})`.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "docs/$1");
}

function schemaOf({ name, kind }: Option, isOfJob: boolean): z.ZodType {
  if (name === "enqueueRate") return z.strictObject({ ...rate.shape, spillPriority: z.number().optional() });
  switch (kind.is) {
    case "text":
      return z.string().meta(kind.most === undefined ? {} : { minLength: 1, maxLength: maxOf(kind.most) });
    case "time":
      return z.iso.datetime({ offset: true });
    case "number":
    case "integer":
      return numberSchema(kind, isOfJob);
    case "choice":
      return choiceSchema(kind.of);
    default:
      return own[kind.is];
  }
}

function numberSchema(
  { is, least, most, word, isWordOfJobs }: Extract<Kind, { readonly least: number }>,
  isOfJob: boolean,
): z.ZodType {
  const number = z.number().meta({ type: is, minimum: least, maximum: maxOf(most) });
  return word === undefined || (isWordOfJobs && !isOfJob) ? number : z.union([number, z.literal(word)]);
}

function choiceSchema(choices: readonly (string | boolean)[]): z.ZodType {
  const texts = choices.filter((choice) => typeof choice === "string");
  if (texts.length === choices.length) return z.enum(texts);
  return texts.length === 0 ? z.boolean() : z.union([z.boolean(), z.enum(texts)]);
}
