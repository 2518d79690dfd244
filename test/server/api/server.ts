import { afterAll, beforeAll } from "vitest";
import { type Role, roles } from "../../../src/server/auth/roles.js";
import { makeToken, parseTokens } from "../../../src/server/auth/tokens.js";
import { type RunningServer, type ServerOptions, startServer } from "../../../src/server/server.js";
import { type TestDatabase, useDatabase } from "../../support/database.js";

/** A server on the file's own database. */
export interface TestServer {
  readonly db: TestDatabase;
  readonly url: string;
  readonly running: RunningServer;
  /** One token for each role. */
  readonly tokens: Readonly<Record<Role, string>>;
  /** Ask, as an admin unless told otherwise. `body` is sent as JSON. */
  ask(method: string, path: string, body?: unknown, options?: AskOptions): Promise<Answer>;
}

export interface AskOptions {
  readonly role?: Role | "nobody";
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

const made = Object.fromEntries(roles.map((role) => [role, makeToken(`the-${role}`, role)])) as Record<
  Role,
  { token: string; line: string }
>;

/** Start it before the file's tests, on any port. With tokens for each role, or open. */
export function useServer(
  options: Omit<ServerOptions, "connection" | "port" | "tokens"> & { readonly isOpen?: boolean } = {},
): TestServer {
  const { isOpen = false, ...rest } = options;
  const db = useDatabase();
  let running: RunningServer | undefined;
  beforeAll(async () => {
    const tokens = isOpen
      ? {}
      : {
          tokens: parseTokens(
            Object.values(made)
              .map(({ line }) => line)
              .join("\n"),
          ),
        };
    running = await startServer({ connection: { connectionString: db.url, max: 8 }, port: 0, ...tokens, ...rest });
  });
  afterAll(() => running?.stop());
  const tokens = Object.fromEntries(roles.map((role) => [role, made[role].token])) as Record<Role, string>;
  return {
    db,
    tokens,
    get url() {
      return running!.url;
    },
    get running() {
      return running!;
    },
    async ask(method, path, body, { role = "admin", headers = {} } = {}) {
      const response = await fetch(`${running!.url}/api/v1${path}`, {
        method,
        headers: {
          ...(isOpen || role === "nobody" ? {} : { authorization: `Bearer ${tokens[role]}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: /json/.test(response.headers.get("content-type") ?? "") ? JSON.parse(text) : text,
      };
    },
  };
}
