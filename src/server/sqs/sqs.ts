import type pg from "pg";
import type { Engine } from "../../db/engine.js";
import { type Tracing, traceHeader } from "../../observe/tracing.js";
import {
  BodyTooLargeError,
  BodyTooSlowError,
  type Exchange,
  type Incoming,
  type Part,
  answer,
  readBody,
} from "../http/exchange.js";
import { type Holding, type Line, NoRoomError, type Shares } from "../http/shares.js";
import type { Log } from "../log.js";
import type { ActionContext, ActionHandlers } from "./context.js";
import { Listening } from "./listening.js";
import { messageActions } from "./message-actions.js";
import { moveActions } from "./move-actions.js";
import { permissionActions } from "./permission-actions.js";
import { queueActions } from "./queue-actions.js";
import { refusalOf } from "./refusal.js";
import { SqsService } from "./service.js";
import { MoveUpkeep } from "./upkeep.js";
import { SqsError } from "./wire/errors.js";
import { maxBodyBytes } from "./wire/limits.js";
import type { Action, Message, Output } from "./wire/model.js";
import type { WireHead } from "./wire/request.js";
import type { AccessKey, CheckedClaim } from "./wire/sigv4.js";
import {
  type Access,
  type Call,
  type WireAnswer,
  readHead,
  readRequest,
  refuse,
  refuseBody,
  writeError,
  writeOutput,
} from "./wire/wire.js";

/** How the SQS endpoint is set up. */
export interface SqsOptions {
  /** Who may ask. Default nobody. */
  readonly keys?: readonly AccessKey[];
  /**
   * Take any key, or none, without a look at signatures: for development, on the loopback address only. Default false.
   */
  readonly anyKey?: boolean;
  /** Whether the name of a deleted queue is refused for a minute, as by AWS. Default true. */
  readonly refuseRecentNames?: boolean;
}

/** What the endpoint is made of. */
export interface SqsParts {
  readonly engine: Engine;
  /** For bodies. */
  readonly memory: Shares;
  /** For what may have to wait for somebody's transaction. */
  readonly waits: Line;
  /** For the one connection that listens, to each cell. */
  readonly connections: readonly pg.ClientConfig[];
  /** What the client of a request calls this server: queue URLs begin with it. */
  readonly addressOf: (request: Incoming) => string;
  readonly log: Log;
  /** Makes each request a span, below the one of its `traceparent`. */
  readonly tracing?: Tracing | undefined;
}

/** What a receiver is about to get, by the list it gets, so that it can be given back if it does not. */
type Deliveries = WeakMap<readonly Message[], () => Promise<void>>;

/** The SQS endpoint: requests in, answers out. */
export class Sqs {
  readonly #service: SqsService;
  readonly #upkeep: MoveUpkeep;
  readonly #listening: readonly Listening[];
  readonly #actions: ActionHandlers;
  readonly #access: Access;
  readonly #deliveries: Deliveries = new WeakMap();

  constructor(
    options: SqsOptions,
    private readonly parts: SqsParts,
  ) {
    const { engine, connections, log, waits } = parts;
    const service = new SqsService(engine, log, waits);
    this.#service = service;
    this.#upkeep = new MoveUpkeep(service, log);
    const onWake = (queue?: string): void => service.hear(queue);
    this.#listening = connections.map(
      (connection) => new Listening({ connection, schema: engine.schema, log, onWake }),
    );
    this.#access = options.anyKey ? "open" : { keys: options.keys ?? [] };
    this.#actions = {
      ...queueActions(service, { isPatient: options.refuseRecentNames ?? true }),
      ...permissionActions(service),
      ...messageActions(service, (messages, giveBack) => this.#deliveries.set(messages, giveBack)),
      ...moveActions(service, () => this.#upkeep.wake()),
    };
  }

  start(): void {
    for (const listening of this.#listening) listening.start();
    this.#upkeep.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#listening.map((listening) => listening.stop()), this.#upkeep.stop()]);
    await this.#service.close();
  }

  /** Answers an exchange. Whoever may not ask is refused by what the headers say, before a byte of the body is read. */
  readonly part: Part = async (exchange) => {
    const head = wireHeadOf(exchange);
    if (this.#access === "open" && isFromElsewhere(exchange)) {
      const refusal = new SqsError(
        "AccessDeniedException",
        "Without keys, requests of web pages and to other hosts are refused.",
      );
      return send(exchange, refuse(head, refusal));
    }
    const told = readHead(head, this.#access);
    if ("refusal" in told) return send(exchange, told.refusal);
    const memory = this.parts.memory.hold(told.who);
    try {
      const read = await this.#read(exchange, head, memory, told.claim);
      if ("refusal" in read) return send(exchange, read.refusal);
      await this.#act(exchange, read.call);
    } finally {
      memory.end();
    }
  };

  async #read(
    exchange: Exchange,
    head: WireHead,
    memory: Holding,
    claim: CheckedClaim | undefined,
  ): Promise<ReturnType<typeof readRequest>> {
    try {
      const body = await readBody(exchange, maxBodyBytes, memory);
      return readRequest({ ...head, body }, this.#access, Date.now(), claim);
    } catch (error) {
      if (error instanceof BodyTooLargeError) return { refusal: refuseBody(head) };
      if (error instanceof BodyTooSlowError)
        return { refusal: refuse(head, new SqsError("RequestTimeoutException", error.message)) };
      if (error instanceof NoRoomError) return { refusal: refuse(head, refusalOf(error)) };
      throw error;
    }
  }

  async #act(exchange: Exchange, call: Call): Promise<void> {
    let output;
    try {
      output = await this.#traced(exchange, call.action, () =>
        this.#run(call.action, call, this.#contextOf(exchange, call)),
      );
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal.status >= 500)
        this.parts.log("error", "action failed", {
          id: exchange.id,
          action: call.action,
          error: String((error as Error)?.stack ?? error),
        });
      return send(exchange, writeError(call.replyTo, refusal));
    }
    const giveBack =
      call.action === "ReceiveMessage"
        ? this.#deliveries.get((output as Output<"ReceiveMessage">).Messages ?? [])
        : undefined;
    if (giveBack) {
      if (exchange.signal.aborted) return giveBack();
      exchange.response.once("close", () => {
        if (!exchange.response.writableFinished) void giveBack();
      });
    }
    send(exchange, writeOutput(call, output as never));
  }

  #run<A extends Action>(action: A, { input }: Call, context: ActionContext): Promise<Output<A>> {
    return this.#actions[action](input as never, context);
  }

  #traced<T>({ id, request }: Exchange, action: Action, work: () => Promise<T>): Promise<T> {
    const { tracing } = this.parts;
    const parent = request.headers[traceHeader];
    const attributes = {
      "rpc.system": "aws-api",
      "rpc.service": "SQS",
      "rpc.method": action,
      "millrace.request_id": id,
    };
    return tracing
      ? tracing.run(
          { name: `SQS.${action}`, parent: typeof parent === "string" ? parent : undefined, attributes },
          work,
        )
      : work();
  }

  #contextOf(
    { request, signal, stopping }: Exchange,
    { account, region, protocol, pathQueue, traceHeader }: Call,
  ): ActionContext {
    return {
      baseUrl: this.parts.addressOf(request),
      account,
      region,
      protocol,
      pathQueue,
      traceHeader,
      signal,
      stopping,
    };
  }
}

/**
 * Without keys, whoever reaches the address may do everything. A web page that somebody looks at must not: its requests
 * carry an origin, or say that they cross sites, and one that got here by a name of its own (DNS rebinding) names a
 * host that is not this one.
 */
function isFromElsewhere({ request: { headers } }: Exchange): boolean {
  const site = headers["sec-fetch-site"];
  const host = (headers.host ?? "localhost").replace(/:\d+$/, "");
  return (
    headers.origin !== undefined ||
    site === "cross-site" ||
    site === "same-site" ||
    !/^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(host)
  );
}

function wireHeadOf({ id, path, request }: Exchange): WireHead {
  return { id, method: request.method ?? "GET", url: request.url ?? "/", path, headers: request.headersDistinct };
}

function send(exchange: Exchange, { status, headers, body }: WireAnswer): void {
  answer(exchange, status, headers, body);
}
