import { z } from "../zod.js";
import type { Millrace } from "../../client/millrace.js";
import type { Queryable } from "../../db/queryable.js";
import type { SettingsName } from "../../db/types.js";
import type { Auth } from "../auth/auth.js";
import type { Role, anyone } from "../auth/roles.js";
import type { Identity } from "../auth/tokens.js";
import type { Exchange } from "../http/exchange.js";
import type { Line, Shares } from "../http/shares.js";
import type { Live } from "../live/live.js";
import type { Log } from "../log.js";
import type { Checkup } from "../operations/checkup.js";
import type { DeclaredInputs } from "../../client/declared-inputs.js";
import type { Results } from "../../client/results.js";
import type { Calls } from "./calls.js";
import { cellFilter, missingCells } from "./schemas.js";

/** The client, as far as handlers need it. */
export interface Mill extends Pick<Millrace, "engine" | "cells" | "schedules"> {
  /** The result of a job, once it has succeeded. */
  readonly result: Results["wait"];
  /** What goes together with others of the same token. */
  readonly calls: Calls;
  /** What workers have declared of inputs; one for all. */
  readonly inputs: DeclaredInputs;
}

/** What there is for all who ask. Each has a share of it, by their name. */
export interface ApiShares {
  /** Bytes of bodies. */
  readonly memory: Shares;
  /**
   * Looks at many jobs, each of which may take a connection for its two seconds: the others are left to those who work.
   */
  readonly looks: Shares;
  /** Those who may have to wait for somebody's transaction, and hold a connection meanwhile. */
  readonly waits: Shares;
  /** Payloads on their way in. */
  readonly uploads: Shares;
  /** Streams of `GET /live`. */
  readonly viewers: Shares;
}

/** What routes are made of. */
export interface ApiParts {
  /** The client on somebody's share of the connections. */
  readonly millOf: (who: string) => Mill;
  readonly shares: ApiShares;
  readonly auth: Auth;
  readonly live: Live;
  readonly checkup: Checkup;
  readonly log: Log;
  readonly version: string;
  /** Wake workers that sleep on a queue, after a commit. */
  readonly wake: (queue: string) => void;
  /** Let go on what waits for something that was told, after a commit. */
  readonly deliver: () => void;
}

/** What a handler gets. */
export interface Call<Query = unknown, Body = unknown> extends Omit<ApiParts, "millOf"> {
  readonly exchange: Exchange;
  readonly identity: Identity;
  /** On the share of whoever asks. */
  readonly mill: Mill;
  /** For looks at many jobs. */
  readonly looks: Line;
  /** For what may have to wait for somebody's transaction. */
  readonly waits: Line;
  /** The parts of the path in braces, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The only cell that is meant, where there are several. */
  readonly cell: string | undefined;
  /**
   * Do something that belongs on record: in one transaction with its entry in the audit, which names `object`. What
   * fails is on record too, where it was known beforehand what it would be done to.
   */
  readonly act: <T>(
    object: string | ((done: T) => string),
    work: (tx: Queryable) => Promise<T>,
    /** What has settings that it may change: those that it has changed are noted as they were, and as they are. */
    settings?: SettingsName,
  ) => Promise<T>;
  /** Do it in a transaction, and take it all back: its answer is what would happen. */
  readonly pretend: <T>(work: (tx: Queryable) => Promise<T>) => Promise<T>;
}

/** One entry of the table that everything is made from: the router, the checks, the OpenAPI document and the tests. */
export interface Route<Query extends z.ZodObject = z.ZodObject, Body extends z.ZodType = z.ZodType> {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/api/v1`: `/queues/{queue}/pause`. */
  readonly path: string;
  readonly role: Role | typeof anyone;
  /** One line, lower case, no full stop. */
  readonly summary: string;
  readonly query?: Query;
  readonly body?: Body;
  /**
   * What it does over several cells. `named`: its answer names those that did not answer (`missing`). `filtered`: it
   * takes a `cell` too, to ask one. Default: it is about something that is in one cell.
   */
  readonly cells?: "named" | "filtered";
  /** Whether the body may be a form (`application/x-www-form-urlencoded`): an object of texts. Default not. */
  readonly takesForms?: boolean;
  /** The longest body, in bytes. Default 1 MiB. */
  readonly bodyLimit?: number;
  /**
   * The shape of the answer, as JSON; `raw` when the handler answers by itself, with this content type (and, of events,
   * their shape). A test compares, for every route.
   */
  readonly answer: z.ZodType | { readonly raw: string; readonly shape?: z.ZodType };
  /** Refuses what can be told from the path alone, before anything of the body is read. */
  readonly precheck?: (params: Readonly<Record<string, string>>) => void;
  readonly handle: (call: Call<z.output<Query>, z.output<Body>>) => Promise<unknown>;
}

/** A route with the types of its own schemas. */
export function route<Query extends z.ZodObject, Body extends z.ZodType>(definition: Route<Query, Body>): Route {
  const { cells, method, query, answer } = definition;
  if (cells === undefined) return definition;
  const isFiltered = cells === "filtered";
  const isNamed = (method === "GET" || !isFiltered) && answer instanceof z.ZodObject && !("missing" in answer.shape);
  return {
    ...definition,
    ...(isFiltered && { query: (query ?? z.strictObject({})).extend({ cell: cellFilter }) }),
    ...(isNamed && { answer: answer.extend({ missing: missingCells }) }),
  } as unknown as Route;
}
