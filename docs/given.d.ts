// Names that blocks of TypeScript in these documents may use without saying where they come from: what a reader takes
// for granted. A block that declares such a name itself means its own.
import type * as m from "millrace";
import type * as t from "millrace/testing";
import type { AsyncLocalStorage } from "node:async_hooks";
import type * as nodeFs from "node:fs";
import type * as nodeHttp from "node:http";
import type * as opentelemetry from "@opentelemetry/api";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type { PgTable } from "drizzle-orm/pg-core";
import type pg from "pg";
import type * as zod from "zod";

declare global {
  // What `import { … } from "millrace"` would give.
  const Millrace: typeof m.Millrace;
  const defineJob: typeof m.defineJob;
  const PermanentError: typeof m.PermanentError;
  const createTestMill: typeof t.createTestMill;
  const Maintainer: typeof m.Maintainer;
  const Scheduler: typeof m.Scheduler;
  const PrometheusMetrics: typeof m.PrometheusMetrics;
  const openTelemetryMetrics: typeof m.openTelemetryMetrics;
  const openTelemetryTracing: typeof m.openTelemetryTracing;
  const inThreads: typeof m.inThreads;
  const retryLater: typeof m.retryLater;
  const whyText: typeof m.whyText;
  type RuleInput = m.RuleInput;
  type ErrorRule = m.ErrorRule;

  // Other packages.
  const fs: typeof nodeFs;
  const http: typeof nodeHttp;
  const z: typeof zod.z;
  const api: typeof opentelemetry;

  // A client, a worker, and what a handler is given.
  const mill: m.Millrace;
  const worker: m.Worker;
  const step: m.Step;
  const tx: pg.PoolClient;
  const pool: pg.Pool;
  const db: pg.Pool & NodePgDatabase; // of pg and of Drizzle
  const prisma: {
    $transaction<T>(
      work: (tx: {
        $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown>;
        readonly user: { create(what: { readonly data: object }): Promise<unknown> };
      }) => Promise<T>,
    ): Promise<T>;
  };
  const connection: string;
  const engine: m.Engine;
  const test: t.TestMill;
  function pino(options?: object): m.Logger;
  function expect(value: unknown): { toBe(other: unknown): void; toEqual(other: unknown): void };

  // Jobs of examples.
  const sendMail: m.JobDefinition<{ to: string }>;
  const to: string;
  const render: m.JobDefinition<{ film: string }>;
  const film: string;
  const post: m.JobDefinition<{ account: number; balance: number }>;
  const importFile: m.JobDefinition<string>;
  const makeReport: m.JobDefinition<{ week: number }>;
  const sendInvoice: m.JobDefinition<{ id: number }>;
  const report: m.JobDefinition<{ kind?: string }>;
  const poll: m.JobDefinition<{ tenant: string }>;
  const files: readonly string[];
  function ship(order: number): Promise<void>;

  const resize: m.JobDefinition<{ key: string }, { key: string }, { width: number; height: number }, { width: number; height: number }>;
  const keys: readonly string[];
  const parseLines: NodeJS.ReadWriteStream & AsyncIterable<{ key: string }>;
  const load: m.JobDefinition<{ table: string }>;
  const sync: m.JobDefinition<null>;
  function isReady(): Promise<boolean>;
  const charge: m.JobDefinition<{ id: string }, { id: string }, { ok: boolean }>;
  const charges: PgTable;
  const recipients: readonly { to: string }[];
  const welcomeMail: m.JobDefinition<{ to: string }>;
  function signUp(mill: m.Millrace, email: string): Promise<void>;
  const id: string;
  const event: { readonly id: string; readonly data: unknown };
  const request: { readonly query: { readonly token: string } };
  const requestId: AsyncLocalStorage<string>;

  // docs/steps.md: an order that is paid for, approved and packed.
  interface Order {
    readonly items: readonly string[];
  }
  const order: m.JobDefinition<Order, Order, unknown, unknown>;
  const job: m.Job<{ boss: string }>;
  const input: { readonly film: string };
  const psp: { charge(order: Order, options: { idempotencyKey: string }): Promise<{ id: string }> };
  const printLabel: m.JobDefinition<{ id: string }, { id: string }, string, string>;
  const pack: m.JobDefinition<string>;
  const trip: { readonly to: string };
  const air: { book(to: object): Promise<{ id: string }>; cancel(id: string): Promise<void> };
  const inn: { book(to: object): Promise<{ id: string }>; cancel(id: string): Promise<void> };
  function pay(what: object): Promise<boolean>;
  function mail(to: string, text: string): Promise<void>;
  const video: { render(what: object, options: { webhook: string; key: string }): Promise<void> };
  const publicUrl: string;
  const extract: m.JobDefinition<{ file: string }, { file: string }, { rows: number }, { rows: number }>;
  const loadTable: m.JobDefinition<{ table: string }>;
  function save(rows: readonly { rows: number }[]): Promise<void>;
  const newOrder: m.Handler<Order>;
  const oldOrder: m.Handler<Order>;
  const handleOrder: m.Handler<Order>;
  const packers: m.Worker;
  const bank: { reset(): void; readonly charges: number };
}
