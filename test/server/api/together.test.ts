import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { makeToken, parseTokens } from "../../../src/server/auth/tokens.js";
import { startServer } from "../../../src/server/server.js";
import { useServer } from "./server.js";

const server = useServer();
const ask: typeof server.ask = (...of) => server.ask(...of);

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const enqueue = (body: object) => ask("POST", "/jobs", { type: "t", ...body });
const statuses = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status);

interface Claimed {
  readonly id: string;
  readonly token: string;
}
const claim = async (body: object): Promise<Claimed[]> => (await ask("POST", "/claims", body)).body.items as Claimed[];
const settle = (settlements: readonly object[]) => ask("POST", "/claims/settle", { settlements });

beforeAll(async () => {
  for (const queue of ["shut", "many", "shared", "reports", "gone", "crowded"]) await server.db.engine.queuePut(queue);
});

describe("requests of one token that come together", () => {
  it("enqueue each job once; one that is refused hears what it would hear alone", async () => {
    // a closed queue with nothing in it is finished by upkeep, perhaps between the two requests, which says otherwise
    await server.db.engine.enqueue({ type: "t", queue: "shut" });
    await server.db.engine.queueClose("shut");
    const alone = await enqueue({ queue: "shut" });
    const all = await Promise.all(
      times(100, (i) => enqueue({ queue: i === 50 ? "shut" : "many", input: i, priority: i % 3 })),
    );
    expect(statuses(all)).toEqual(times(100, (i) => (i === 50 ? alone.status : 200)));
    const { requestId: _, ...problem } = all[50]!.body;
    expect(alone.body).toMatchObject(problem);
    expect(new Set(all.map(({ body }) => body.id)).size).toBe(100);
    const rows = await server.db.sql(
      "select input::text::int as n, priority as p from jobs where queue = 'many' order by 1",
    );
    expect(rows).toEqual(
      times(100, (n) => n)
        .filter((n) => n !== 50)
        .map((n) => ({ n, p: n % 3 })),
    ); // each its own
  });

  it("claim each job once, with tokens of their own", async () => {
    await Promise.all(times(100, (i) => enqueue({ queue: "shared", input: i })));
    const all = await Promise.all([
      ...times(30, () => claim({ queues: ["shared"], limit: 2 })),
      ask("POST", "/claims", { queues: ["there is none"] }).then(({ status }) => (expect(status).toBe(404), [])),
      ...times(30, () => claim({ queues: ["shared"], limit: 2 })),
    ]);
    const jobs = all.flat();
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(jobs.length);
    expect(jobs).toHaveLength(100);
    for (const own of all) {
      const others = all.filter((other) => other !== own).flat();
      for (const { token } of own) expect(others.some((other) => other.token === token)).toBe(false);
    }
    const own = all.find(({ length }) => length === 2)!;
    const { body } = await ask("POST", "/claims/extend", { tokens: own.map(({ token }) => token), seconds: 60 });
    const prolonged = (body.items as { readonly jobIds: readonly string[] }[]).flatMap(({ jobIds }) => jobIds);
    expect(prolonged.toSorted()).toEqual(own.map(({ id }) => id).toSorted());
  });

  it("report each outcome once, and are told of their own jobs that were lost", async () => {
    await Promise.all(times(40, (i) => enqueue({ queue: "reports", input: i })));
    const jobs = (await Promise.all(times(40, () => claim({ queues: ["reports"] })))).flat();
    expect(jobs).toHaveLength(40);
    const success = ({ id, token }: Claimed) => [{ token, jobs: [id], outcome: "succeeded", results: [id] }];
    const stranger = { token: jobs[0]!.token, jobs: [jobs[1]!.id], outcome: "succeeded" }; // another's job
    const [strange, ...answers] = await Promise.all([
      settle([stranger]),
      ...jobs.map((job) => settle(success(job))),
      settle(success(jobs[2]!)), // again
      settle([{ token: jobs[3]!.token, jobs: ["1"], outcome: "succeeded" }]), // there is no such job
    ]);
    expect(statuses(answers)).toEqual([...times(41, () => 200), 404]);
    expect([strange.status, strange.body.refused]).toEqual([200, [jobs[1]!.id]]);
    const refused = answers.slice(0, 41).flatMap(({ body }) => body.refused as string[]);
    expect(refused).toEqual([jobs[2]!.id]); // of two equal reports one was first
    const rows = await server.db.sql("select distinct state from jobs where queue = 'reports'");
    expect(rows).toEqual([{ state: "succeeded" }]);
  });

  it("who hung up keeps no jobs", async () => {
    await Promise.all(times(20, (i) => enqueue({ queue: "gone", input: i })));
    // nothing can be claimed before all have hung up: an answer that was sent to who does not read it is theirs
    const holder = await server.db.connect();
    await holder.query("begin; lock table claim in exclusive mode");
    const gone = new AbortController();
    const hungUp = times(20, () =>
      fetch(`${server.url}/api/v1/claims`, {
        method: "POST",
        signal: gone.signal,
        headers: { "content-type": "application/json", authorization: `Bearer ${server.tokens.admin}` },
        body: JSON.stringify({ queues: ["gone"], leaseSeconds: 600 }),
      }).catch(() => undefined),
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    gone.abort();
    expect((await Promise.all(hungUp)).filter((response) => response !== undefined)).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await holder.query("rollback");
    const got: Claimed[] = [];
    for (let tries = 0; got.length < 20 && tries < 500; tries += 1) {
      got.push(...(await claim({ queues: ["gone"], limit: 20 })));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(got.length).toBe(20);
  });
});

describe("very many tokens", () => {
  it("each have their requests answered", { timeout: 60_000 }, async () => {
    const made = times(300, (i) => makeToken(`token-${i}`, "producer"));
    const crowded = await startServer({
      connection: { connectionString: server.db.url, max: 4 },
      port: 0,
      tokens: parseTokens(made.map(({ line }) => line).join("\n")),
    });
    onTestFinished(() => crowded.stop());
    const answers = await Promise.all(
      made.flatMap(({ token }, i) =>
        times(3, (n) =>
          fetch(`${crowded.url}/api/v1/jobs`, {
            method: "POST",
            headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
            body: JSON.stringify({ type: "t", queue: "crowded", input: [i, n] }),
          }),
        ),
      ),
    );
    expect(new Set(statuses(answers))).toEqual(new Set([200]));
    const [row] = await server.db.sql("select count(distinct input::text)::int as n from jobs where queue = 'crowded'");
    expect(row).toEqual({ n: 900 });
  });
});
