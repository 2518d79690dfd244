import { describe, expect, it } from "vitest";
import { routes } from "../../../src/server/api/routes/index.js";
import { useServer } from "./server.js";

const logged: string[] = [];
const server = useServer({
  log: (level, message, facts) => level === "error" && logged.push(`${message} ${JSON.stringify(facts)}`),
});

const seconds = Number(process.env["FUZZ_SECONDS"] ?? 8);
const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);

/** Numbers that come again with the same seed. */
function random(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe("whatever is sent", () => {
  it(`is never the server's fault (seed ${seed})`, async () => {
    const next = random(seed);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!;
    const { id } = await server.db.engine.enqueue({ type: "x", input: { a: 1 }, payload: Buffer.from("abc") });
    const [job] = await server.db.engine.claim({ leaseSeconds: 600 });
    await server.ask("PUT", "/schedules/s", { rule: { every: "1h" }, job: { type: "x" } });
    const names = [
      "default",
      "x",
      "s",
      id,
      "0",
      "-1",
      "9223372036854775807",
      "9223372036854775808",
      "a b",
      "é",
      "..",
      "%",
      "'",
      '"',
      "\\",
      "\u0000",
      "\ud800",
      "a".repeat(300),
      "__proto__",
      job!.token,
      "",
    ];
    const numbers = [0, 1, -1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, 5e-324, 1001, 10_000, 86_400];
    const times = [
      "2026-01-01T00:00:00Z",
      "0001-01-01T00:00:00Z",
      "9999-12-31T23:59:59.999Z",
      "2026-02-30T00:00:00Z",
      "infinity",
      "now",
      "2026-01-01T00:00:00+14:00",
      "-004712-01-01T00:00:00Z",
    ];
    const value = (depth = 0): unknown => {
      const kind = next();
      if (kind < 0.25) return pick(names);
      if (kind < 0.45) return pick(numbers);
      if (kind < 0.6) return pick(times);
      if (kind < 0.7) return pick([true, false, null]);
      if (depth > 3) return "deep";
      if (kind < 0.82) return Array.from({ length: Math.floor(next() * 4) }, () => value(depth + 1));
      return Object.fromEntries(
        Array.from({ length: Math.floor(next() * 4) }, () => [pick([...keys, ...names]), value(depth + 1)]),
      );
    };
    const keys = [
      "type",
      "queue",
      "input",
      "rule",
      "cron",
      "every",
      "after",
      "rrule",
      "times",
      "at",
      "tz",
      "job",
      "options",
      "maxRunning",
      "rate",
      "perSecond",
      "burst",
      "retry",
      "base",
      "errorRules",
      "pattern",
      "code",
      "fail",
      "delays",
      "breaker",
      "waitsFor",
      "drainsAt",
      "blocked",
      "from",
      "to",
      "until",
      "days",
      "zone",
      "missed",
      "overlap",
      "weight",
      "tokens",
      "token",
      "jobs",
      "outcome",
      "settlements",
      "ids",
      "filter",
      "message",
      "error",
      "results",
      "delaySeconds",
      "ttlSeconds",
      "resources",
      "deadLetterQueue",
      "ordered",
      "groupRate",
      "enqueueRate",
      "maxDepth",
      "freshnessSeconds",
      "finalStages",
      "onFailure",
      "retentionFailedSeconds",
      "payloadLimitBytes",
    ];
    /** Mostly what the schema knows, so that more than the first check is reached. */
    const bodyFor = (shape: Record<string, unknown> | undefined): unknown => {
      if (shape === undefined || next() < 0.1) return value();
      return Object.fromEntries(
        Object.keys(shape)
          .filter(() => next() < 0.6)
          .map((key) => [key, value()]),
      );
    };
    const counts = new Map<number, number>();
    const end = Date.now() + seconds * 1000;
    const fuzzed = routes.filter(({ path }) => path !== "/live" && path !== "/doctor");
    while (Date.now() < end) {
      const route = pick(fuzzed);
      const path = route.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(pick(names).toWellFormed()) || "x");
      const asked = Object.keys(route.query?.shape ?? {}).filter(() => next() < 0.4);
      const query = new URLSearchParams(
        asked.map((key): [string, string] => [
          key,
          next() < 0.8 ? pick([...names, ...numbers.map(String), ...times]) : JSON.stringify(value()),
        ]),
      );
      const body =
        route.body === undefined
          ? undefined
          : JSON.stringify(
              bodyFor("shape" in route.body ? (route.body.shape as Record<string, unknown>) : undefined),
            ) || "{}";
      const headers: Record<string, string> =
        next() < 0.05 ? { "idempotency-key": pick(["k1", "k2", " ", "x".repeat(300)]) } : {};
      const answer = await server.ask(
        route.method,
        `${path}${asked.length === 0 ? "" : `?${query.toString()}`}`,
        body,
        { headers },
      );
      counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
      if (answer.status >= 500)
        expect.fail(
          `${answer.status} for ${route.method} ${path}?${query.toString()} ${body}\n${JSON.stringify(answer.body)}\n${logged.at(-1)}`,
        );
    }
    expect(logged).toEqual([]);
    const answered = [...counts.values()].reduce((sum, n) => sum + n, 0);
    expect(answered).toBeGreaterThan(100);
    // A fuzz that is refused at the door every time tells nothing.
    expect((counts.get(200) ?? 0) / answered).toBeGreaterThan(0.05);
  }, 120_000);
});
