import { z } from "../../zod.js";
import { route } from "../route.js";
import { limitOf, listOf, time } from "../schemas.js";

const finding = z
  .strictObject({
    name: z.string(),
    state: z.enum(["ok", "wrong", "skipped"]),
    message: z.string(),
    remedy: z.string().optional(),
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
  })
  .meta({ id: "AuditEntry" });

export const operationRoutes = [
  route({
    method: "GET",
    path: "/doctor",
    role: "reader",
    summary: "what is wrong with the database, and what to do; looked at twice a minute at most",
    answer: listOf(finding),
    handle: async ({ checkup }) => ({
      items: (await checkup.findings()).map(({ check: name, ...rest }) => ({ name, ...rest })),
    }),
  }),
  route({
    method: "GET",
    path: "/audit",
    role: "reader",
    summary: "who did what through this API, newest first: the newest 100,000 entries of the last 90 days",
    query: z.strictObject({
      who: z.string().optional(),
      limit: limitOf(1000, 100),
      cursor: z
        .string()
        .regex(/^\d{1,19}$/)
        .optional(),
    }),
    answer: listOf(auditRecord),
    async handle({ mill, query: { who, limit, cursor } }) {
      const items = await mill.engine.server.audit({
        limit,
        ...(who === undefined ? {} : { who }),
        ...(cursor === undefined ? {} : { before: cursor }),
      });
      return { items, ...(items.length === limit ? { next: items.at(-1)!.id } : {}) };
    },
  }),
];
