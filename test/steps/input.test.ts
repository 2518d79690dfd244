import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claimOne, enqueue, stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";

const test = useMill();
let worker: pg.Pool;

beforeAll(async () => {
  const role = "steps_worker"; // of all databases of the server
  await test.db.sql(`do $$ begin create role ${role}; exception when duplicate_object then end $$`);
  await test.db.sql(`select role_grant('${role}', 'worker')`);
  const url = new URL(test.db.url);
  worker = new pg.Pool({
    connectionString: url.href,
    max: 4,
    options: `-c search_path=millrace,public -c role=${role}`,
  });
  worker.on("error", () => {}); // its connections may still be closing when the database is dropped
});

afterAll(() => worker.end());

/** Accepted, or refused with a code of ours: never an error of the server itself. */
async function answer(text: string, values: readonly unknown[]): Promise<string> {
  try {
    await worker.query(text, [...values]);
    return "accepted";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
const nul = String.raw`"\u0000"`;
const documents: readonly (string | null)[] = [
  null,
  "null",
  "1",
  '"text"',
  "{}",
  "[]",
  "[null]",
  "[1]",
  "[[]]",
  "[{}]",
  deep,
  `[${deep}]`,
  '[{"key": null, "kind": "done"}]',
  '[{"key": "", "kind": "done"}]',
  '[{"key": "k", "kind": "ended"}]',
  '[{"key": "k", "kind": "signal", "n": 1}]',
  `[{"key": ${nul}, "kind": "done"}]`,
  `[{"key": "k", "kind": "done", "value": ${nul}}]`,
  `[{"key": "k", "kind": "done", "about": ${nul}}]`,
  `[{"key": "k", "kind": "done", "error": ${nul}}]`,
  `[{"key": "k", "kind": "done", "error": ${deep}}]`,
  `[{"key": "k", "kind": "done", "value": ${deep}}]`,
  `[{"key": "k", "kind": "done", "value": "${"x".repeat(1_100_000)}"}]`,
  `[{"key": "${"𝄞".repeat(401)}", "kind": "done"}]`,
  `[{"key": "${"𝄞".repeat(400)}", "kind": "done"}]`,
  '[{"key": "k", "kind": "done", "n": 1e30}]',
  '[{"key": "k", "kind": "done", "n": "x"}]',
  '[{"key": "k", "kind": "done", "ms": "NaN"}]',
  '[{"key": "k", "kind": "done", "ms": "Infinity"}]',
  '[{"key": "k", "kind": "due", "seconds": "NaN"}]',
  '[{"key": "k", "kind": "due", "seconds": 1e300}]',
  '[{"key": "k", "kind": "due", "seconds": -1}]',
  '[{"key": "k", "kind": "due", "until": "-infinity"}]',
  '[{"key": "k", "kind": "due", "until": "infinity"}]',
  '[{"key": "k", "kind": "due", "until": "294276-12-31"}]',
  '[{"key": "k", "kind": "due", "until": "tomorrow, perhaps"}]',
  '[{"key": "k", "seconds": "NaN"}]',
  '[{"key": "k", "seconds": -1}]',
  '[{"key": "k", "until": "-infinity"}]',
  '[{"key": "k", "until": "infinity"}]',
  '[{"key": "k", "signals": []}]',
  '[{"key": "k", "signals": [null]}]',
  '[{"key": "k", "signals": [["a"], ["b"]]}]',
  '[{"key": "k", "signals": {"a": 1}}]',
  `[{"key": "k", "signals": [${nul}]}]`,
  '[{"key": "k", "children": -1}]',
  '[{"key": "k", "children": 99999999999}]',
  '[{"key": null, "children": 1}]',
  '[{"key": "k", "children": 1}, {"key": "k", "children": 2}]',
  '[{"key": "k", "retry": "maybe", "seconds": 1}]',
];

describe("whatever a role with the rights of a worker sends", () => {
  it.each([
    [
      "steps_put",
      "select steps_put(json_build_array(json_build_object('token', $2::uuid, 'job', $1::bigint, 'steps', $3::json)))",
    ],
    ["steps_put, all of it", "select steps_put($3::json), $1::bigint, $2::uuid"],
    ["job_suspend, its waits", "select job_suspend($2::uuid, $1::bigint, $3::json)"],
    ["job_suspend, its steps", `select job_suspend($2::uuid, $1::bigint, '[{"key": "k", "seconds": 1}]', $3::json)`],
    [
      "job_settle",
      `select job_settle(json_build_array(json_build_object('token', $2::uuid, 'outcome', 'suspended', 'jobs', json_build_array($1::bigint), 'waits', $3::json)))`,
    ],
    ["step_start, inputs", "select step_start($2::uuid, $1::bigint, 'k', $3::json, '[{}]')"],
    ["step_start, options", "select step_start($2::uuid, $1::bigint, 'k', '[1]', $3::json)"],
    ["job_tell", "select job_tell($1::bigint, 'k', $3::json), $2::uuid"],
  ])("as a document to %s is taken, or refused with a code of ours [#190]", async (_name, text) => {
    const queue = await test.queue();
    const odd: string[] = [];
    for (const document of documents) {
      await enqueue(test.db, queue);
      const held = await claimOne(test.db, queue, { leaseSeconds: 100 });
      const code = await answer(text, [held.id, held.token, document]);
      if (code !== "accepted" && !code.startsWith("MR0")) odd.push(`${code} ${document?.slice(0, 80)}`);
      // whatever was accepted can be delivered, read and ended
      await test.db.engine.noticesDeliver();
      await test.db.engine.stepsGet([held.id]);
      await test.db.engine.cancel([held.id]);
      expect(await stateOf(test.db, held.id)).toBe("cancelled");
    }
    await test.db.engine.noticesDeliver();
    await test.db.engine.cancel((await test.mill.jobs.list({ queue, state: "ready" })).map(({ id }) => id));
    expect(odd).toEqual([]);
  });

  it("as other values is refused with a code of ours, or means nothing [#190]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const held = await claimOne(test.db, queue, { leaseSeconds: 100 });
    const long = "x".repeat(100_000);
    const calls: readonly (readonly [string, ...unknown[]])[] = [
      ["select steps_get(null)"],
      ["select steps_get('{}')"],
      ["select steps_get(array[null, 0, -1, 1, 9223372036854775807])"],
      ["select job_suspend(null, null, null, null)"],
      [`select job_suspend(null, $1, '[{"key": "k", "seconds": 1}]')`, id],
      [`select job_suspend($1, null, '[{"key": "k", "seconds": 1}]')`, held.token],
      [`select job_suspend($1, -1, '[{"key": "k", "seconds": 1}]')`, held.token],
      ["select step_start(null, null, null, null, null)"],
      ["select step_start($1, $2, null, '[]', '[]')", held.token, id],
      ["select step_start($1, $2, '', '[]', '[]')", held.token, id],
      ["select step_start($1, $2, $3, '[]', '[]')", held.token, id, long],
      ["select step_start($1, $2, 'k', '[1, 2]', '[{}]')", held.token, id],
      ["select step_start($1, $2, 'k', null, '[{}]')", held.token, id],
      [`select step_start($1, $2, 'k', '[1]', '[{"type": "x", "fingerprint": "f"}]')`, held.token, id],
      [`select step_start($1, $2, 'k', '[1]', '[{"type": "x", "queue": "nobody''s"}]')`, held.token, id],
      [`select step_start($1, $2, 'n', '[1]', '[{"type": "x"}]', null, null)`, held.token, id],
      ["select job_tell(null, 'k')"],
      ["select job_tell(-1, 'k')"],
      ["select job_tell(9223372036854775807, 'k')"],
      ["select job_tell($1, null)", id],
      ["select job_tell($1, '')", id],
      ["select job_tell($1, $2)", id, long],
      ["select job_tell($1, 'k', null, $2)", id, long],
      ["select notices_deliver(null)"],
      ["select notices_deliver(0)"],
      ["select notices_deliver(-1)"],
      ["select notices_deliver(1000000000)"],
    ];
    const odd: string[] = [];
    for (const [text, ...values] of calls) {
      const code = await answer(text, values);
      if (code !== "accepted" && !code.startsWith("MR0")) odd.push(`${code} ${text}`);
    }
    expect(odd).toEqual([]);
  });

  it("it sees no table, and calls nothing that is private", async () => {
    for (const text of [
      "select from step",
      "select notice_append('{1}', 1)",
      "select runs_resume('{1}')",
      "select steps_append('{}')",
      "select children_look()",
    ])
      expect([text, await answer(text, [])]).toEqual([text, "42501"]);
  });
});
