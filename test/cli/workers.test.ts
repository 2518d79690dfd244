import { describe, expect, it } from "vitest";
import type { ProcessRecord } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { millrace } from "./cli.js";

const db = useDatabase();
const cli = (args: readonly string[]) => millrace(args, { url: db.url });

describe("millrace workers", () => {
  it("lists workers, pauses, drains, resumes them, and says who it was and why", async () => {
    expect(await cli(["workers"])).toMatchObject({ code: 0, stdout: "no worker is known\n" });
    const worker = { name: "mailer", queues: ["default"], types: ["send"], concurrency: 10 };
    const facts = { host: "web-1", pid: 7, release: "r1", workers: [worker] };
    await db.engine.workerBeat("web-1:7:x", facts, { running: 2, memoryBytes: 5e6, stalledSeconds: 0 });
    expect(await cli(["workers", "pause", "mailer", "--because", "it is down"])).toMatchObject({
      code: 0,
      stdout: "worker mailer: 1 paused\n",
    });
    const [text, listed] = await Promise.all([cli(["workers"]), cli(["workers", "--json"])]);
    expect(text.stdout).toMatch(/^mailer +busy +paused by \S+: it is down +2 +10 /m);
    expect((JSON.parse(listed.stdout) as ProcessRecord[])[0]).toMatchObject({
      id: "web-1:7:x",
      orders: [{ worker: "mailer", hold: "pause", because: "it is down" }],
    });
    expect((await cli(["workers", "resume", "mailer"])).stdout).toBe("worker mailer: 1 resumed\n");
    expect((await cli(["workers", "drain", "--process", "web-1:7:x"])).stdout).toBe("process web-1:7:x: 1 to drain\n");
    expect((await cli(["workers", "concurrency", "3", "mailer"])).stdout).toBe("worker mailer: 1 with 3 at once\n");
    expect((await cli(["workers", "concurrency", "own", "mailer"])).code).toBe(0);
    const unknown = await cli(["workers", "pause", "nobody"]);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no worker "nobody"') });
    expect((await cli(["workers", "pause"])).stderr).toContain("neither a name nor a process is given");
  });
});
