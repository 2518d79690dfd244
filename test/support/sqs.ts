import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll } from "vitest";
import { type RunningServer, type ServerOptions, startServer } from "../../src/server/server.js";
import type { TestDatabase } from "./database.js";

/** Servers on one database, and a client for each. */
export interface TestSqs {
  readonly client: SQSClient;
  readonly server: RunningServer;
  /** Another server on the same database, with a client of its own. Stopped after the file. */
  another(options?: ServerOptions["sqs"]): Promise<{ readonly server: RunningServer; readonly client: SQSClient }>;
}

/** Start a server on the file's database. */
export function useSqs(db: TestDatabase): TestSqs {
  const started: { readonly server: RunningServer; readonly client: SQSClient }[] = [];
  const start = async (sqs: ServerOptions["sqs"] = {}) => {
    const server = await startServer({ connection: db.url, port: 0, graceMs: 1000, sqs: { anyKey: true, ...sqs } });
    const client = new SQSClient({
      endpoint: server.url,
      region: "us-east-1",
      credentials: { accessKeyId: "any", secretAccessKey: "any" },
      maxAttempts: 1,
    });
    started.push({ server, client });
    return { server, client };
  };
  beforeAll(async () => void (await start()));
  afterAll(async () => {
    for (const { client } of started) client.destroy();
    await Promise.all(started.map(({ server }) => server.stop()));
  });
  return {
    get client() {
      return started[0]!.client;
    },
    get server() {
      return started[0]!.server;
    },
    another: start,
  };
}

let made = 0;
/** A name that no other test uses. */
export const newName = (suffix = ""): string => `queue-${process.pid}-${(made += 1)}${suffix}`;
