// Names that blocks of TypeScript in these documents may use without saying where they come from: what a reader takes
// for granted. A block that declares such a name itself means its own.
import type * as m from "millrace";
import type * as t from "millrace/testing";
import type pg from "pg";

declare global {
  // What `import { … } from "millrace"` would give.
  const Millrace: typeof m.Millrace;
  const defineJob: typeof m.defineJob;
  const PermanentError: typeof m.PermanentError;
  const createTestMill: typeof t.createTestMill;

  // A client, a worker, and what a handler is given.
  const mill: m.Millrace;
  const worker: m.Worker;
  const step: m.Step;
  const tx: pg.PoolClient;
  const pool: pg.Pool;
  const db: pg.Pool;
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
