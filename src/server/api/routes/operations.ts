import { z } from "../../zod.js";
import { given } from "../given.js";
import { route } from "../route.js";
import { inCell, jsonValue, limitOf, listOf, time, timeInput } from "../schemas.js";

const finding = z
  .strictObject({
    name: z.string(),
    state: z.enum(["ok", "wrong", "skipped"]),
    message: z.string(),
    remedy: z.string().optional(),
    ...inCell,
  })
  .meta({ id: "Finding" });

const auditRecord = z
  .strictObject({
    id: z.string(),
    at: time,
    who: z.string(),
    action: z.string(),
    object: z.string(),
    result: z.string().meta({ description: "done, or the code of the error" }),
    count: z.number().int().nullable(),
    address: z.string().nullable(),
    requestId: z.string().nullable(),
    because: z.string().nullable(),
    before: jsonValue.meta({ description: "of settings, those that it has changed, as they were" }),
    after: jsonValue.meta({ description: "and as they are since" }),
    ...inCell,
  })
  .meta({ id: "AuditEntry" });

export const operationRoutes = [
  route({
    method: "GET",
    path: "/doctor",
    role: "reader",
    summary: "what is wrong with the database, and what to do; checked at most twice a minute",
    answer: listOf(finding),
    handle: async ({ checkup }) => ({
      items: (await checkup.findings()).map(({ check: name, ...rest }) => ({ name, ...rest })),
    }),
  }),
  route({
    method: "GET",
    path: "/audit",
    role: "reader",
    cells: "filtered",
    summary: "who did what through this API, newest first: the newest 100,000 entries of the last 90 days",
    query: z.strictObject({
      who: z.string().optional(),
      action: z.string().max(200).optional().meta({ description: "a part of the route" }),
      object: z.string().max(200).optional().meta({ description: "a part of what it was done to, or of why" }),
      result: z.enum(["done", "refused"]).optional(),
      since: timeInput.optional(),
      until: timeInput.optional(),
      limit: limitOf(1000, 100),
      cursor: z
        .string()
        .regex(/^(?:\d{1,16}:[a-z][a-z0-9-]{0,30}:)?\d{1,19}$/)
        .optional(),
    }),
    answer: listOf(auditRecord),
    async handle({ mill, query: { limit, cursor: before, ...filter } }) {
      const items = await mill.engine.server.audit({ limit, ...given({ ...filter, before }) });
      return { items, ...(items.length === limit ? { next: items.at(-1)!.id } : {}) };
    },
  }),
];
