import { randomBytes } from "node:crypto";
import pg from "pg";
import { Millrace, defineJob } from "../../../dist/index.js";
import { now } from "./clock.ts";
import type { Commands } from "./commands.ts";

interface PayloadStore {
  write(bytes: Buffer): Promise<unknown>;
  /** Read so many payloads that were written, one after the other, and tell the bytes of each. */
  readAll(count: number, onPayload: (bytes: number) => void): Promise<void>;
  close(): Promise<void>;
}

/**
 * Write payloads one after the other, then read them one after the other. The bytes are random, so nothing compresses
 * them. A first one, of a megabyte, is not counted, neither written nor read: a worker has to start, and each
 * connection plans its statements once. Nor is the stop of the worker.
 */
export async function payloads(
  url: string,
  { store, bytes, count }: Commands["payloads"]["args"],
): Promise<Commands["payloads"]["answer"]> {
  const opened = await (store === "millrace" ? inMillrace(url) : inTable(url));
  const payload = randomBytes(bytes);
  await opened.write(payload.subarray(0, 1_000_000));
  const startedAt = now();
  for (let i = 0; i < count; i += 1) await opened.write(payload);
  const writtenAt = now();
  const reads: { readonly bytes: number; readonly at: number }[] = [];
  await opened.readAll(count + 1, (read) => reads.push({ bytes: read, at: now() }));
  await opened.close();
  const wrong = reads.slice(1).find((read) => read.bytes !== bytes);
  if (wrong) throw new Error(`${store} gave back ${wrong.bytes} bytes of ${bytes}`);
  return { writeSeconds: (writtenAt - startedAt) / 1000, readSeconds: (reads.at(-1)!.at - reads[0]!.at) / 1000 };
}

/** Enqueued as a stream, read as a stream by the handler of a worker, one job at a time. */
async function inMillrace(url: string): Promise<PayloadStore> {
  const large = defineJob("large");
  const mill = new Millrace({ connection: url });
  await mill.engine.queueDepth();
  return {
    write: (bytes) => mill.engine.enqueueStream({ type: large.type }, bytes.length, [bytes]),
    async readAll(count, onPayload) {
      const { promise: done, resolve } = Promise.withResolvers<void>();
      let jobs = 0;
      const worker = mill.worker({ concurrency: 1 });
      worker.handle(large, async (job) => {
        let seen = 0;
        for await (const piece of job.payloadStream()) seen += piece.length;
        onPayload(seen);
        jobs += 1;
        if (jobs === count) resolve();
      });
      await worker.start();
      await done;
      await worker.stop();
    },
    close: () => mill.close(),
  };
}

/** The limit: one row per payload and no queue around it, through the same driver. */
async function inTable(url: string): Promise<PayloadStore> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("create table plain_payload (id bigint generated always as identity primary key, bytes bytea)");
  return {
    write: (bytes) =>
      client.query({ name: "write", text: "insert into plain_payload (bytes) values ($1)", values: [bytes] }),
    async readAll(count, onPayload) {
      for (let id = 1; id <= count; id += 1) {
        const { rows } = await client.query({
          name: "read",
          text: "select bytes from plain_payload where id = $1",
          values: [id],
        });
        onPayload((rows as { bytes: Buffer }[])[0]!.bytes.length);
      }
    },
    close: () => client.end(),
  };
}
