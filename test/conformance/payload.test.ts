import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { PayloadError } from "../../src/db/errors.js";
import type { CallOptions } from "../../src/db/foreign.js";
import type { Queryable } from "../../src/db/queryable.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";

const db = useDatabase();
const realLimit = 256_000_000;

async function read(id: string): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of db.engine.payloadStream(id)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Every way in: what enqueues these bytes, and returns the id. */
const ways: Record<string, (queue: string, bytes: Buffer, call?: CallOptions) => Promise<string>> = {
  enqueue: (queue, payload, call) => enqueue(db, queue, { payload }, call),
  enqueueEach: async (queue, payload, call) =>
    (await db.engine.enqueueEach([{ type: "work", queue, payload }], call))[0]!.id,
  enqueueStream: async (queue, bytes, call) =>
    (await db.engine.enqueueStream({ type: "work", queue }, bytes.length, [bytes], call)).id,
  async "plain SQL"(queue, bytes, call) {
    const text =
      "select job_id from job_enqueue('work', p_options => json_build_object('queue', $1::text), p_payload => $2)";
    return String(
      (await ((call?.tx as Queryable | undefined) ?? db.pool).query({ text, values: [queue, bytes] })).rows[0]![
        "job_id"
      ],
    );
  },
};

describe("a payload", () => {
  const sizes = [0, 1, 65_535, 65_536, 65_537, 1_048_576, 1_048_577, 2_500_000];

  describe.each(Object.keys(ways))("given by %s", (way) => {
    it.each(sizes)("of %i random bytes arrives unchanged [#46]", async (size) => {
      const queue = await newQueue(db);
      const bytes = withAwkwardStart(randomBytes(size));
      const id = await ways[way]!(queue, bytes);
      const job = await claimOne(db, queue);
      expect(job).toMatchObject({ id, payloadSize: size });
      if (job.payload) expect(bytes.equals(job.payload), "claimed").toBe(true);
      expect(bytes.equals(await read(id)), "read").toBe(true);
    });

    it("of up to 64 KiB comes with the claim [#24] [#46]", async () => {
      const queue = await newQueue(db);
      const bytes = withAwkwardStart(randomBytes(65_536));
      await ways[way]!(queue, bytes);
      const { payload } = await claimOne(db, queue);
      expect(payload && bytes.equals(payload)).toBe(true);
    });
  });

  /** NUL, bytes that are never UTF-8, a cut-off sequence, a lone surrogate: what text columns choke on. */
  function withAwkwardStart(bytes: Buffer): Buffer {
    Buffer.from([0x00, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x00]).copy(bytes);
    return bytes;
  }
});

describe("the limit of a payload", () => {
  const limit = 1000;

  it.each(Object.keys(ways))(
    "is exclusive for %s: one byte less is accepted, the limit is a typed error [#41]",
    async (way) => {
      const queue = await newQueue(db);
      await lowerLimit();
      const id = await ways[way]!(queue, Buffer.alloc(limit - 1, 7));
      expect((await read(id)).length).toBe(limit - 1);
      const refused = ways[way]!(queue, Buffer.alloc(limit, 7));
      await (way === "plain SQL"
        ? expect(refused).rejects.toMatchObject({ code: "MR004" })
        : expect(refused).rejects.toThrow(PayloadError));
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1 });
    },
  );

  it.each(["enqueue", "enqueueEach", "enqueueStream"])(
    "refuses before anything is sent by %s, so that the caller's transaction stays usable [#41]",
    async (way) => {
      const queue = await newQueue(db);
      await lowerLimit();
      const tx = await db.connect();
      await tx.query("begin");
      const before = await enqueue(db, queue, {}, { tx });
      await expect(ways[way]!(queue, Buffer.alloc(limit, 7), { tx })).rejects.toThrow(PayloadError);
      const after = await enqueue(db, queue, {}, { tx });
      await tx.query("commit");
      expect(await db.engine.claim({ queues: [queue], limit: 10 })).toMatchObject([{ id: before }, { id: after }]);
    },
  );

  it("is 256,000,000 bytes unless lowered: the largest payload arrives whole [#41] [#46]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueueStream({ type: "work", queue }, realLimit - 1, repeated(realLimit - 1));
    expect(await claimOne(db, queue)).toMatchObject({ id, payloadSize: realLimit - 1 });
    // compared where it lies, all of it: carrying it here would take most of the time
    const [read] = await db.sql(
      "select bool_and(payload_read($1, at) = substring($2::bytea for least(1048576, $3::bigint - at)::int)) as same from generate_series(0, $3::bigint - 1, 1048576) at",
      [id, chunk, realLimit - 1],
    );
    expect(read).toEqual({ same: true });
    expect(await db.engine.payloadRead(id, realLimit - 1)).toHaveLength(0);
  }, 120_000);

  it("is checked before the first byte is asked for, in a transaction that stays usable [#41]", async () => {
    const queue = await newQueue(db);
    let asked = 0;
    function* bytes() {
      asked += 1;
      yield chunk;
    }
    const tx = await db.connect();
    await tx.query("begin");
    await expect(db.engine.enqueueStream({ type: "work", queue }, realLimit, bytes(), { tx })).rejects.toThrow(
      PayloadError,
    );
    expect(asked).toBe(0);
    expect((await tx.query("select 1 as alive")).rows).toEqual([{ alive: 1 }]);
    await tx.query("commit");
  });

  it("is a CHECK of the table, for those who go around the functions [#41]", async () => {
    const insert = db.sql(
      `insert into job (id, xid, run_at, queue_id, max_attempts, slot, priority, type, payload_size)
      select job_id_new(), 1, clock_now(), 1, 1, 0, 5, 'raw', $1`,
      [realLimit],
    );
    await expect(insert).rejects.toMatchObject({ code: "23514" });
    // read, not tried: the error alone would print half a gigabyte of hex
    const checks = await db.sql(
      "select pg_get_constraintdef(oid) as rule from pg_constraint where conrelid = 'job'::regclass and contype = 'c'",
    );
    expect(checks).toContainEqual({ rule: `CHECK ((octet_length(payload) < ${realLimit}))` });
    await expect(db.sql("update cell set payload_limit = $1", [realLimit + 1])).rejects.toMatchObject({
      code: "23514",
    });
  });

  const chunk = randomBytes(1_048_576);

  function* repeated(size: number): Generator<Uint8Array> {
    for (let left = size; left > 0; left -= chunk.length) yield chunk.subarray(0, left);
  }

  /** Until the test has ended. */
  async function lowerLimit(): Promise<void> {
    await db.sql("update cell set payload_limit = $1", [limit]);
    onTestFinished(async () => void (await db.sql("update cell set payload_limit = $1", [realLimit])));
  }
});
