import { z } from "../../zod.js";
import type { Transaction } from "../../../db/foreign.js";
import type { ResourceOptions } from "../../../db/types.js";
import { given } from "../given.js";
import { optionSchemas } from "../option-schemas.js";
import { route } from "../route.js";
import { dryRun, inCell, listOf, pauseRecord, rate, time } from "../schemas.js";

const limitRecord = z
  .strictObject({
    kind: z.enum(["queue", "each group", "group", "type", "resource"]),
    queue: z.string().nullable(),
    name: z.string().nullable(),
    maxRunning: z.number().int().nullable(),
    rate: rate.nullable(),
    inUse: z.number().int().nullable(),
    ...inCell,
  })
  .meta({ id: "Limit" });

const breakerRecord = z
  .strictObject({
    queue: z.string(),
    type: z.string(),
    state: z.enum(["closed", "open", "half-open"]),
    failures: z.number().int().nullable(),
    opensAt: z.number().int(),
    openedAt: time.nullable(),
    openUntil: time.nullable(),
    pauseSeconds: z.number().nullable(),
    failedAt: time.nullable(),
    lastError: z.looseObject({}).nullable(),
    ...inCell,
  })
  .meta({ id: "Breaker" });

export const limitRoutes = [
  route({
    method: "GET",
    path: "/limits",
    role: "reader",
    cells: "filtered",
    summary: "all limits, and how much of each is in use",
    answer: listOf(limitRecord),
    handle: async ({ mill }) => ({ items: await mill.engine.limits() }),
  }),
  route({
    method: "PUT",
    path: "/resources/{name}",
    role: "admin",
    summary: "create a resource that jobs need while they run, or set its limits; null removes one",
    body: z.strictObject(optionSchemas("resource")),
    answer: z.looseObject({}),
    async handle({ mill, params, body, act }) {
      const name = params["name"]!;
      return act(`resource ${name}`, (tx) => mill.engine.resourcePut(name, given(body) as ResourceOptions, { tx }), [
        "resource",
        name,
      ]);
    },
  }),
  route({
    method: "GET",
    path: "/breakers",
    role: "reader",
    cells: "filtered",
    summary: "circuit breakers that have counted failures, or hold a type back",
    answer: listOf(breakerRecord),
    handle: async ({ mill }) => ({ items: await mill.engine.breakers() }),
  }),
  route({
    method: "POST",
    path: "/breakers/reset",
    role: "admin",
    summary: "close circuit breakers and reset their counts: all, or those of a queue, a type, or both",
    body: z.strictObject({ queue: z.string().optional(), type: z.string().optional(), dryRun }),
    answer: z.strictObject({ count: z.number().int(), isExact: z.boolean() }),
    async handle({ mill, body: { dryRun: isPretended, ...which }, act, pretend }) {
      const reset = (tx: Transaction) => mill.engine.breakerReset(given(which), { tx });
      return {
        count: isPretended ? await pretend(reset) : await act(`breakers ${JSON.stringify(given(which))}`, reset),
        isExact: true,
      };
    },
  }),
  route({
    method: "GET",
    path: "/pauses",
    role: "reader",
    cells: "filtered",
    summary: "what is paused, who paused it and why: whole queues, and types and groups of them",
    answer: listOf(pauseRecord),
    handle: async ({ mill }) => ({ items: await mill.engine.pauses() }),
  }),
];
