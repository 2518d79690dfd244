import { beforeEach, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue, stateOf } from "../support/jobs.js";
import { invalidArgument, payloadRefused } from "../support/steps.js";

const db = useDatabase();

/** Enqueue by SQL, with options and an input as they are written. */
const enqueue = (options: string, input = "1"): Promise<{ id: string }[]> =>
  db.sql("select job_id as id from job_enqueue('t', $1::json, $2::json)", [input, options]);
/** Older servers do not even take such a text for JSON. */
const tooDeep = expect.stringMatching(/^(MR001|54001)$/);
const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

let queue = "";
beforeEach(async () => {
  queue = await newQueue(db);
});
const inQueue = (options: Record<string, unknown>): string => JSON.stringify({ queue, ...options });

describe("a value that would break whoever meets it is refused where it enters", () => {
  it.each([
    ["delays that no time can be moved by", { retry: 1e13, ttlSeconds: "computed", attemptTimeoutSeconds: 1 }],
    ["a retry delay of years", { retry: 1e16 }],
    ["a list of them", { retry: [1, 1e16] }],
    ["a cap of them", { retry: { base: 1, cap: 1e16 } }],
    ["a delay", { delaySeconds: 1e10 }],
    ["a delay that is not a number", { delaySeconds: "NaN" }],
    ["a time to live", { ttlSeconds: 1e10 }],
    ["a time for a fingerprint", { fingerprint: "f", fingerprintSeconds: 1e10 }],
    ["a negative time for a fingerprint", { fingerprint: "f", fingerprintSeconds: -1 }],
    ["a deadline beyond JavaScript's dates", { deadline: "280000-01-01T00:00:00Z" }],
    ["a deadline that never comes", { deadline: "infinity" }],
    ["a deadline in the year 10000", { deadline: "9999-12-31T23:59:59-23:59" }],
    ["a time to run before all times", { runAt: "-infinity" }],
    ["a time to run after all times", { runAt: "infinity" }],
    ["a time to expire after all times", { expiresAt: "infinity" }],
    ["a time that is none", { runAt: "tomorrow at noon" }],
    ["a number that is none", { delaySeconds: "soon" }],
    ["a payload that is not base64", { payload: "§" }],
    ["a group that is no text", { group: {} }],
    ["a tenant that is no text", { tenant: true }],
    ["a content type as long as a book", { payload: "", contentType: "x".repeat(1000) }],
  ])("%s", async (_, options) => {
    const before = await db.sql("select count(*) from job");
    await expect(enqueue(inQueue(options))).rejects.toMatchObject({ code: "MR001" });
    expect(await db.sql("select count(*) from job")).toEqual(before);
  });

  it.each([
    ["in its input", "{}", nested(501)],
    ["in its input, deeper than PostgreSQL reads", "{}", nested(6000)],
    ["in its headers", `{"headers": {"x": ${nested(501)}}}`, "1"],
    ["in an option, deeper than PostgreSQL reads", `{"retry": ${nested(20_000)}}`, "1"],
  ])("lists in lists %s", async (_, options, input) => {
    await expect(enqueue(options, input)).rejects.toMatchObject({
      code: tooDeep,
      message: expect.stringMatching(/nested|levels|stack/),
    });
  });

  it("so they are in the options of many jobs", async () => {
    for (const options of [`{"type": "t", "retry": ${nested(20_000)}}`, `[{"type": "t", "retry": ${nested(20_000)}}]`])
      await expect(db.sql("select job_enqueue_many('[1]', $1::json)", [options])).rejects.toMatchObject({
        code: tooDeep,
      });
  });

  it("500 levels are fine, and can be claimed", async () => {
    await enqueue(inQueue({}), nested(500));
    expect(JSON.stringify((await db.engine.claim({ queues: [queue] }))[0]?.input)).toBe(nested(500));
    expect(await db.sql("select * from job_claim(array[$1])", [queue])).toEqual([]);
  });

  it.each([
    ["an input", "{}", '"\\ud800"'],
    ["a key of an input", "{}", '{"\\udc00": 1}'],
    ["headers", '{"headers": {"a": "\\ud800x"}}', "1"],
    ["a group", '{"group": "\\ud800"}', "1"],
    ["a type", '{"type": "\\ud800"}', "1"],
    ["an input with NUL", "{}", '"a\\u0000b"'],
    ["a key with NUL", "{}", '{"a\\u0000b": 1}'],
  ])("half a character in %s", async (_, options, input) => {
    await expect(enqueue(options, input)).rejects.toMatchObject({ code: "MR001" });
    await expect(
      db.sql("select * from job_enqueue_many($1::json, $2::json)", [
        `[${input}]`,
        options.replace("{", '{"type": "t", ').replace(", }", "}").replace('"type": "t", "type"', '"type"'),
      ]),
    ).rejects.toMatchObject({ code: "MR001" });
  });

  it("whole characters and escaped backslashes are fine", async () => {
    const input = String.raw`{"a": "\ud83d\ude00 \\u0000 \\ud800 \u001b"}`;
    await enqueue(inQueue({}), input);
    expect((await db.engine.claim({ queues: [queue] }))[0]?.input).toEqual(JSON.parse(input));
  });

  it.each([
    ["an input", "{}", JSON.stringify("x".repeat(16_777_216))],
    ["headers", JSON.stringify({ headers: { x: "x".repeat(4_194_304) } }), "1"],
  ])("%s that is too large", async (_, options, input) => {
    await expect(enqueue(options, input)).rejects.toMatchObject({ code: "MR004" });
  });

  it.each([
    ["a lease", { leaseSeconds: 1e300 }],
    ["a lease of nothing", { leaseSeconds: 1e-9 }],
    ["a lease's cap", { leaseCapSeconds: 1e10 }],
    ["a factor", { leaseFactor: 1e300 }],
    ["a timeout that no integer holds", { attemptTimeoutSeconds: 1e9 }],
    ["a retention", { retentionFailedSeconds: 1e12 }],
    ["a retry policy", { retry: { base: 1e12 } }],
  ])("an option of a queue: %s", async (_, options) => {
    await expect(db.sql("select queue_put($1, $2)", [queue, JSON.stringify(options)])).rejects.toMatchObject({
      code: "MR001",
    });
  });

  it("options of a queue that are too large", async () => {
    const waitsFor = {
      errorRules: Array.from({ length: 100 }, (_, i) => ({
        code: `${i}${"x".repeat(190)}`,
        delays: Array.from({ length: 1000 }, () => 999_999_999),
      })),
    };
    await expect(db.engine.queuePut(queue, waitsFor as never)).rejects.toMatchObject(payloadRefused);
  });
});

describe("what a worker reports", () => {
  const claimed = async (options: Record<string, unknown> = {}): Promise<{ token: string; id: string }> => {
    await enqueue(inQueue(options));
    const [job] = await db.engine.claim({ queues: [queue] });
    return job!;
  };

  it.each([
    ["NUL", '{"message": "a\\u0000b"}'],
    ["half a character", '{"message": "\\ud800"}'],
    ["lists in lists", nested(2000)],
  ])("an error with %s is recorded as the text it was given as, and everybody can read it", async (_, error) => {
    const { token, id } = await claimed();
    await db.sql("select job_fail($1, array[$2::bigint], $3::json)", [token, id, error]);
    expect((await db.sql("select error, log from attempts where job_id = $1", [id]))[0]?.error.message).toBe(error);
    expect((await db.sql("select * from job_failures($1)", [queue]))[0]).toMatchObject({ jobs: 1 });
    expect((await db.engine.failures({ queue }))[0]).toMatchObject({ jobs: 1 });
  });

  it("an error that is null is none, and the failure is told", async () => {
    const { token, id } = await claimed();
    await db.engine.fail({ token, id }, null as never);
    expect(await stateOf(db, id)).toBe("failed");
  });

  it("an error that is too long is cut, and keeps its name and code", async () => {
    const { token, id } = await claimed();
    await db.sql("select job_fail($1, array[$2::bigint], $3::json)", [
      token,
      id,
      JSON.stringify({ name: "E", code: "C", message: "m".repeat(300_000), stack: "s".repeat(100_000) }),
    ]);
    const [attempt] = await db.sql("select error from attempts where job_id = $1", [id]);
    expect(attempt!.error).toMatchObject({ name: "E", code: "C", cut: true });
    expect(JSON.stringify(attempt!.error).length).toBeLessThan(262_144);
  });

  it.each([
    ["a result", "select job_complete($1, array[$2::bigint], $3::json)", 16_777_216, (x: string) => `["${x}"]`],
    ["a log", "select job_complete($1, array[$2::bigint], null, $3::json)", 1_048_576, (x: string) => `[["${x}"]]`],
    ["progress", "select progress_put($1, $2, $3::json)", 1_048_576, (x: string) => `"${x}"`],
  ])("%s that is too large is refused, and the job is still held", async (_, statement, most, value) => {
    const { token, id } = await claimed();
    await expect(db.sql(statement, [token, id, value("x".repeat(most))])).rejects.toMatchObject({ code: "MR004" });
    await expect(db.sql(statement, [token, id, value("\\u0000")])).rejects.toMatchObject({ code: "MR001" });
    await expect(db.sql(statement, [token, id, value("\\ud800")])).rejects.toMatchObject({ code: "MR001" });
    await db.sql(statement, [token, id, value("fine")]);
  });

  it("a retry by a policy that was stored before there were limits is settled", async () => {
    const { token, id } = await claimed();
    await db.sql(`update job set retry = '1e16' where id = $1`, [id]);
    await db.sql("select job_retry_later($1, array[$2::bigint], null)", [token, id]);
    expect(await stateOf(db, id)).toBe("delayed");
  });
});

it.each([
  "type_put(null, '{}')",
  "type_put('t', null)",
  "queue_put(null)",
  "queue_put('q', null)",
  "group_put('default', 'g', null)",
  "resource_put('r', null)",
  "cell_put(null)",
  "progress_put('00000000-0000-0000-0000-000000000000', 1, null)",
])("nothing where something is needed is refused: %s", async (call) => {
  await expect(db.sql(`select ${call}`)).rejects.toMatchObject({ code: "MR001" });
});

describe("what is asked for", () => {
  it.each(["infinity", "-infinity", "0001-01-01", "294276-12-31"])(
    "jobs from or to a time such as %s are found, or there are none",
    async (time) => {
      for (const call of [
        "job_count(p_queue => $1, p_created_from => $2)",
        "job_list(p_queue => $1, p_created_to => $2)",
        "job_find(p_queue => $1, p_created_from => $2)",
      ])
        await db.sql(`select ${call}`, [queue, time]);
    },
  );

  it.each(["infinity", "NaN", "1e300", "-1"])(
    "jobs that are looked for during %s seconds are found",
    async (seconds) => {
      await enqueue(inQueue({}));
      await db.sql("select job_find(p_queue => $1, p_seconds => $2)", [queue, seconds]);
    },
  );

  it.each([
    "stage_release($1, 's', -1)",
    "stage_cancel($1, 's', -1)",
    "job_cancel_where($1, 't', p_limit => -1)",
    "job_retry(1, null, 't', $1, -1)",
  ])("fewer than no jobs, by %s, are refused", async (call) => {
    await expect(db.sql(`select ${call}`, [queue])).rejects.toMatchObject({ code: "MR001" });
  });
});

it.each([
  ["maxRuns", { maxRuns: 1.5 }],
  ["keepRuns", { keepRuns: 0.5 }],
  ["missed", { missed: { all: 1.5 } }],
  ["afterFailure", { afterFailure: { stopAfter: 1e-51 } }],
])(
  "part of a number as %s of a schedule is refused: whoever makes the runs of all schedules reads it as a whole one",
  async (_, options) => {
    await expect(
      db.sql("select schedule_put('s', '{\"every\": 1000}', '{\"type\": \"t\"}', null, $1)", [JSON.stringify(options)]),
    ).rejects.toMatchObject({
      code: "MR001",
    });
  },
);

describe("reports and claims in one call", () => {
  it.each([
    ["a settlement that is none", "[true]", "[]"],
    ["a token that is none", '[{"token": "x", "outcome": "failed"}]', "[]"],
    ["jobs that are none", '[{"outcome": "failed", "jobs": {"a": 1}}]', "[]"],
    ["a delay that is none", '[{"outcome": "retryLater", "delaySeconds": false}]', "[]"],
    ["NUL", '[{"outcome": "failed", "error": {"message": "\\u0000"}}]', "[]"],
    ["half a character", '[{"outcome": "failed", "error": {"\\ud800": 1}}]', "[]"],
    ["claims that are no list", "[]", "{}"],
    ["a limit that is none", "[]", '[{"limit": 1e300}]'],
    ["queues that are none", "[]", '[{"queues": {}}]'],
  ])("%s: all of it is refused", async (_, settlements, claims) => {
    await expect(db.sql("select job_settle($1, $2)", [settlements, claims])).rejects.toMatchObject({ code: "MR001" });
  });
});

it("a worker with a name as long as a book claims nothing", async () => {
  await expect(db.sql("select job_claim_json(array[$1], null, 1, $2)", [queue, "x".repeat(201)])).rejects.toMatchObject(
    { code: "MR001" },
  );
});

describe("bytes of a claim", () => {
  it("headers and replaced inputs count", async () => {
    const megabyte = "x".repeat(1_000_000);
    for (let n = 0; n < 3; n += 1) await db.engine.enqueue({ type: "t", queue, headers: { megabyte } });
    for (let n = 0; n < 3; n += 1) await db.engine.enqueue({ type: "t", queue, input: 1, fingerprint: `f${n}` });
    for (let n = 0; n < 3; n += 1)
      await db.engine.enqueue({ type: "t", queue, input: megabyte, fingerprint: `f${n}`, fingerprintMode: "replace" });
    const sizes: number[] = [];
    for (;;) {
      const jobs = await db.engine.claim({ queues: [queue], limit: 10, maxBytes: 2_500_000 });
      if (jobs.length === 0) break;
      sizes.push(jobs.length);
    }
    expect(sizes).toEqual([2, 2, 2]);
  });

  it("replaced inputs count in groups, and so do those that came back where groups are ordered", async () => {
    const megabyte = "x".repeat(1_000_000);
    await db.engine.queuePut(queue, { ordered: "batches" });
    for (let n = 0; n < 4; n += 1)
      await db.engine.enqueue({ type: "t", queue, group: `g${n % 2}`, input: 1, fingerprint: `f${n}` });
    for (let n = 0; n < 4; n += 1)
      await db.engine.enqueue({
        type: "t",
        queue,
        group: `g${n % 2}`,
        input: megabyte,
        fingerprint: `f${n}`,
        fingerprintMode: "replace",
      });
    const drain = async (): Promise<number[]> => {
      const sizes: number[] = [];
      for (let round = 0; round < 10; round += 1) {
        const jobs = await db.engine.claim({ queues: [queue], limit: 10, maxBytes: 2_500_000 });
        if (jobs.length > 0) sizes.push(jobs.length);
        for (const job of jobs) await db.engine.release(job);
      }
      return sizes;
    };
    expect(Math.max(...(await drain()))).toBe(2);
    expect(Math.max(...(await drain()))).toBe(2); // and again, when all of them have come back
  });

  it("a job without a payload is not counted as if it had one", async () => {
    for (let n = 0; n < 40; n += 1) await db.engine.enqueue({ type: "t", queue, input: n });
    expect(await db.engine.claim({ queues: [queue], limit: 40, maxBytes: 10_000 })).toHaveLength(40);
  });
});

it("bad input through the library has the same codes", async () => {
  await expect(db.engine.enqueue({ type: "t", queue, retry: 1e16 })).rejects.toMatchObject(invalidArgument);
  await expect(db.engine.enqueue({ type: "t", queue, input: "x".repeat(16_777_216) })).rejects.toMatchObject(
    payloadRefused,
  );
  for (const odd of [[[]], { a: 1 }, () => 1, Symbol.iterator])
    await expect(db.engine.typePut(odd as never, {})).rejects.toMatchObject(invalidArgument);
  await expect(db.engine.settle([{} as never])).rejects.toMatchObject(invalidArgument);
  const noJobs = { token: "00000000-0000-0000-0000-000000000000", outcome: "succeeded" };
  await expect(db.engine.settle([noJobs as never])).rejects.toMatchObject(invalidArgument);
});
