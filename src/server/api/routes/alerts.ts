import { z } from "../../zod.js";
import type { AlertRule } from "../../../db/types.js";
import { given } from "../given.js";
import { route } from "../route.js";
import { because, done, inCell, jobId, limitOf, listOf, time } from "../schemas.js";

const kind = z.enum(["oldest", "failures", "breaker", "schedule", "unhandled", "workers", "backlog", "size"]);
const rule = z
  .strictObject({
    kind,
    queue: z.string().optional(),
    type: z.string().optional(),
    schedule: z.string().optional(),
    seconds: z.number().optional(),
    share: z.number().optional(),
    minRuns: z.number().optional(),
    windowSeconds: z.number().optional(),
    growth: z.number().optional(),
    minWorkers: z.number().optional(),
    bytes: z.number().optional(),
    forSeconds: z.number().optional(),
    remindSeconds: z.number().optional(),
    hooks: z.array(z.string()).max(10).optional(),
    on: z.boolean().optional(),
  })
  .meta({ id: "AlertRule" });
const ruleRecord = z
  .strictObject({
    name: z.string(),
    kind,
    options: z.record(z.string(), z.union([z.string(), z.number()])),
    forSeconds: z.number(),
    hooks: z.array(z.string()),
    on: z.boolean(),
    putBy: z.string().nullable(),
    putAt: time,
    silencedUntil: time.nullable(),
    silencedBy: z.string().nullable(),
    silencedBecause: z.string().nullable(),
    remindSeconds: z.number(),
    silences: z.array(
      z.strictObject({
        subject: z.string(),
        until: time,
        by: z.string().nullable(),
        because: z.string().nullable(),
      }),
    ),
    ...inCell,
  })
  .meta({ id: "AlertRuleRecord" });
const alertRecord = z
  .strictObject({
    rule: z.string(),
    kind,
    subject: z.string(),
    state: z.enum(["pending", "firing"]),
    since: time,
    firedAt: time.nullable(),
    value: z.number().nullable(),
    message: z.string(),
    silenced: z.boolean(),
    ...inCell,
  })
  .meta({ id: "Alert" });
const eventRecord = z
  .strictObject({
    id: z.string(),
    at: time,
    event: z.string(),
    rule: z.string().meta({ description: "the rule, or the web hook" }),
    subject: z.string().nullable(),
    value: z.number().nullable(),
    message: z.string().nullable(),
    by: z.string().nullable(),
    ...inCell,
  })
  .meta({ id: "AlertEvent" });
const hookRecord = z
  .strictObject({
    name: z.string(),
    origin: z.string().meta({ description: "where it leads; the rest of the address is not shown again" }),
    putBy: z.string().nullable(),
    putAt: time,
    rules: z.array(z.string()),
    senders: z
      .number()
      .int()
      .meta({ description: "workers that are known and send web hooks; with none, nothing is sent" }),
    ...inCell,
  })
  .meta({ id: "WebHook" });

export const alertRoutes = [
  route({
    method: "GET",
    path: "/alerts",
    role: "reader",
    cells: "filtered",
    summary: "alerts that fire, or whose condition has not held for long enough yet",
    answer: listOf(alertRecord),
    handle: async ({ mill }) => ({ items: await mill.engine.alerts() }),
  }),
  route({
    method: "GET",
    path: "/alerts/events",
    role: "reader",
    cells: "filtered",
    summary: "what happened to alerts, rules and web hooks, newest first: the newest 10,000",
    query: z.strictObject({ limit: limitOf(1000, 100), cursor: z.string().optional() }),
    answer: listOf(eventRecord),
    async handle({ mill, query: { limit, cursor } }) {
      const items = await mill.engine.alertEvents(given({ limit, before: cursor }));
      return { items, ...(items.length === limit ? { next: items.at(-1)!.id } : {}) };
    },
  }),
  route({
    method: "GET",
    path: "/alerts/rules",
    role: "reader",
    cells: "filtered",
    summary: "all rules, by name",
    answer: listOf(ruleRecord),
    handle: async ({ mill }) => ({ items: await mill.engine.alertRules() }),
  }),
  route({
    method: "PUT",
    path: "/alerts/rules/{name}",
    role: "admin",
    cells: "filtered",
    summary: "create a rule, or replace it: options that you leave out get their defaults",
    body: rule,
    answer: done,
    async handle({ mill, params, body, act, identity }) {
      const name = params["name"]!;
      await act(
        `alert rule ${name}`,
        (tx) => mill.engine.alertPut(name, given(body) as AlertRule, identity.name, { tx }),
        ["alertRule", name],
      );
      return { done: true };
    },
  }),
  route({
    method: "DELETE",
    path: "/alerts/rules/{name}",
    role: "admin",
    cells: "filtered",
    summary: "delete a rule; its alerts are resolved",
    answer: done,
    async handle({ mill, params, act, identity }) {
      const name = params["name"]!;
      await act(`alert rule ${name}`, (tx) => mill.engine.alertRemove(name, identity.name, { tx }), [
        "alertRule",
        name,
      ]);
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/alerts/rules/{name}/silence",
    role: "admin",
    cells: "filtered",
    summary: "send nothing for what a rule fires, or for one subject of it, for this many seconds; 0 ends the silence",
    body: z.strictObject({
      seconds: z.number().min(0).max(2_592_000),
      subject: z.string().min(1).max(500).optional().meta({ description: "only this one, as alerts name it" }),
      because,
    }),
    answer: done,
    async handle({ mill, params, body, act, identity }) {
      const name = params["name"]!;
      const note = given({ by: identity.name, because: body.because, subject: body.subject });
      await act(`alert rule ${name}`, (tx) => mill.engine.alertSilence(name, body.seconds, note, { tx }), [
        "alertRule",
        name,
      ]);
      return { done: true };
    },
  }),
  route({
    method: "GET",
    path: "/alerts/hooks",
    role: "reader",
    cells: "filtered",
    summary: "where alerts are sent to, without secrets and whole addresses",
    answer: listOf(hookRecord),
    handle: async ({ mill }) => ({ items: await mill.engine.hooks() }),
  }),
  route({
    method: "PUT",
    path: "/alerts/hooks/{name}",
    role: "admin",
    cells: "filtered",
    summary: "add an address that alerts can be sent to; a generated secret is in the response, and nowhere else",
    body: z.strictObject({ url: z.string().max(2000), secret: z.string().min(16).max(200).optional() }),
    answer: z.strictObject({ secret: z.string().optional() }),
    async handle({ mill, params, body, act, identity }) {
      const name = params["name"]!;
      return act(`web hook ${name}`, (tx) => mill.engine.hookPut(name, given(body), identity.name, { tx }), [
        "hook",
        name,
      ]);
    },
  }),
  route({
    method: "DELETE",
    path: "/alerts/hooks/{name}",
    role: "admin",
    cells: "filtered",
    summary: "delete a web hook, also from the rules that name it",
    answer: done,
    async handle({ mill, params, act, identity }) {
      const name = params["name"]!;
      await act(`web hook ${name}`, (tx) => mill.engine.hookRemove(name, identity.name, { tx }), ["hook", name]);
      return { done: true };
    },
  }),
  route({
    method: "POST",
    path: "/alerts/hooks/{name}/test",
    role: "admin",
    cells: "filtered",
    summary: "send a test now; the response names the job that does it",
    answer: z.strictObject({ job: jobId }),
    async handle({ mill, params, act, identity }) {
      const name = params["name"]!;
      return { job: await act(`web hook ${name}`, (tx) => mill.engine.hookTest(name, identity.name, { tx })) };
    },
  }),
];
