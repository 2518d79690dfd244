import { describe, expect, it } from "vitest";
import type { BreakerRecord, FailureGroup } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, stateOf } from "../support/jobs.js";
import { type Ended, millrace } from "./cli.js";

const db = useDatabase();
const cli = (args: readonly string[]): Promise<Ended> => millrace(args, { url: db.url });
const json = ({ stdout }: Ended): unknown => JSON.parse(stdout);

describe("failures", () => {
  it("are listed in groups and retried at a rate; nothing to do is exit code 1", async () => {
    expect(await cli(["failures"])).toMatchObject({ code: 0, stdout: "no failures\n" });
    const ids: string[] = [];
    for (const ms of [10, 20, 30]) {
      ids.push((await db.engine.enqueue({ type: "mail" })).id);
      await db.engine.fail(await claimOne(db, "default"), { name: "FetchError", message: `timeout after ${ms} ms` });
    }
    const [text, listed, none, since] = await Promise.all([
      cli(["failures"]),
      cli(["failures", "--type", "mail", "--json"]),
      cli(["failures", "--type", "other", "--json"]),
      cli(["failures", "--since", "2100-01-01T00:00Z", "--json"]),
    ]);
    const [group] = json(listed) as [FailureGroup];
    expect(group).toMatchObject({ jobs: 3, types: ["mail"] });
    expect(text.stdout).toMatch(/^FINGERPRINT +JOBS +FIRST +LAST +TYPES +ERROR/);
    expect(text.stdout).toMatch(new RegExp(`^${group.fingerprint} +3 .* mail +FetchError: timeout after 30 ms`, "m"));
    expect([json(none), json(since)]).toEqual([[], []]);

    expect(await cli(["failures", "retry", group.fingerprint, "--per-second", "0.1", "--by", "ann"])).toMatchObject({
      code: 0,
      stdout: "3 jobs will be tried again, over 20.0 s\n",
    });
    expect(await Promise.all(ids.map((id) => stateOf(db, id)))).toEqual(["ready", "delayed", "delayed"]);
    expect(await db.engine.decisions(ids[0]!)).toMatchObject([{ action: "retry", by: "ann" }]);
    expect(await cli(["failures", "retry", group.fingerprint, "--json"])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"retried": 0'),
    });
  });

  it("refuse what makes no sense", async () => {
    const cases: [string[], string][] = [
      [["failures", "retry"], "give a FINGERPRINT, --queue or --type"],
      [["failures", "retry", "x"], "is not the fingerprint of a group of failures"],
      [["failures", "retry", "--type", "x", "--per-second", "0"], '--per-second cannot be "0"'],
      [["failures", "retry", "--type", "x", "--per-second", "many"], '--per-second cannot be "many"'],
      [["failures", "--since", "some day"], "some day"],
      [["jobs", "replay"], "--since is missing"],
      [["jobs", "replay", "--since", "2100-01-01T00:00Z"], "nothing can have ended"],
    ];
    const ended = await Promise.all(cases.map(([args]) => cli(args)));
    for (const [i, { code, stdout, stderr }] of ended.entries()) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(cases[i]![1]);
    }
  });
});

describe("replay", () => {
  it("counts, then copies with --yes, and says how to go on", async () => {
    const from = (await clockNow(db)).toISOString();
    await db.engine.queuePut("replayed");
    await db.engine.enqueueMany("done", [1, 2, 3], { queue: "replayed" });
    for (let i = 0; i < 3; i += 1) await db.engine.complete(await claimOne(db, "replayed"));
    const args = ["jobs", "replay", "--since", from, "--queue", "replayed"];
    expect(await cli(args)).toMatchObject({ code: 1, stdout: "3 jobs would be replayed; repeat with --yes\n" });
    const limited = await cli([...args, "--yes", "--limit", "2", "--per-second", "1"]);
    expect(limited.code).toBe(0);
    const goOn = /^2 jobs replayed, over 1\.0 s\n.* go on with --until (\S+) --after (\d+) --start-at (\S+)\n$/;
    const [, until, after, startAt] = goOn.exec(limited.stdout)!;
    expect(await cli([...args, "--yes", "--until", until!, "--after", after!, "--start-at", startAt!])).toMatchObject({
      code: 0,
      stdout: "1 job replayed\n",
    });
    const copies = (await db.engine.list({ queue: "replayed" })).filter(({ source }) => source !== null);
    expect(copies).toHaveLength(3);
    expect(copies.map(({ source }) => (source as { replayed: boolean }).replayed)).toEqual([true, true, true]);
  });
});

describe("breakers", () => {
  it("are listed, with exit code 1 while one is open, and reset", async () => {
    expect(await cli(["breakers"])).toMatchObject({ code: 0, stdout: "no breaker has counted anything\n" });
    await db.engine.queuePut("guarded", { breaker: { failures: 1 } });
    await db.engine.enqueueMany("fragile", [1, 2], { queue: "guarded" });
    await db.engine.retryLater(await claimOne(db, "guarded"), { message: "down" });
    const [text, listed] = await Promise.all([cli(["breakers"]), cli(["breakers", "--json"])]);
    expect([text.code, listed.code]).toEqual([1, 1]);
    expect(text.stdout).toMatch(/^guarded +fragile +open +30\.0 s .* down$/m);
    expect((json(listed) as BreakerRecord[])[0]).toMatchObject({ queue: "guarded", type: "fragile", state: "open" });
    expect(await cli(["breakers", "reset", "--queue", "guarded"])).toMatchObject({
      code: 0,
      stdout: "1 breaker reset\n",
    });
    expect(await cli(["breakers", "reset"])).toMatchObject({ code: 1, stdout: "0 breakers reset\n" });
    expect((await cli(["breakers"])).stdout).toMatch(/^guarded +fragile +closed +0\/1 /m);
    expect((await claimOne(db, "guarded")).type).toBe("fragile");
  });
});
