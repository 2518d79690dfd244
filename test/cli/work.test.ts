import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue, stateOf } from "../support/jobs.js";
import { Running, library, millrace, useFolder } from "./cli.js";

const db = useDatabase();
const folder = useFolder();

function handlersFile(name: string, text: string): string {
  const file = path.join(folder.path, name);
  writeFileSync(file, text);
  return file;
}

const work = (args: readonly string[]): Running => new Running(["work", ...args], { url: db.url });

describe("work", () => {
  it("runs the handlers of an array, ends running jobs on SIGTERM, and calls close", async () => {
    const queue = await newQueue(db);
    const file = handlersFile(
      "array.mjs",
      `export default [["slow", async (job) => {
         console.log("begun", job.input);
         await new Promise((resolve) => setTimeout(resolve, 500));
         return "done";
       }], ["broken", () => { throw new Error("not an image"); }, { concurrency: 1 }]];
       export const close = () => console.log("closed");
       setInterval(() => {}, 1000); // something the file keeps open`,
    );
    await db.engine.enqueue({ type: "broken", queue, maxAttempts: 1 });
    const { id } = await db.engine.enqueue({ type: "slow", queue, input: 7 });
    const worker = work([file, "--queues", `default,${queue}`, "--concurrency", "2", "--verbose"]);
    await worker.until("begun 7");
    await worker.until("not an image (attempt 1 of 1, the last)");
    worker.kill("SIGTERM");
    const { code, stdout } = await worker.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/stopping[^]*✔ slow \d+ in [^]*stopped: 1 succeeded, 1 failed attempts\nclosed\n$/);
    expect(await stateOf(db, id)).toBe("succeeded");
  });

  it("gives a function the worker and the client, and leaves a stuck job to others on the second signal", async () => {
    const queue = await newQueue(db);
    const file = handlersFile(
      "function.mjs",
      `import { defineJob } from ${JSON.stringify(pathToFileURL(library).href)};
       export default async (worker, mill) => {
         worker.handle(defineJob("stuck"), () => new Promise(() => {}));
         await mill.enqueue("stuck", null, { queue: ${JSON.stringify(queue)} });
       };`,
    );
    const worker = work([file, "--queues", queue, "--json"]);
    await worker.until('"started"');
    while ((await db.engine.queueDepth(queue)).running === 0) await sleep(20);
    worker.kill("SIGINT");
    await worker.until('"stopping"');
    worker.kill("SIGINT");
    const { code, stdout } = await worker.ended;
    expect(code).toBe(1);
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event: string });
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(["started", "stopping", "stopped"]));
    expect(events[0]).toMatchObject({ event: "started", queues: [queue], concurrency: 10 });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1, running: 0 });
  });

  it("starts again when the file changes, also after it was broken", async () => {
    const queue = await newQueue(db);
    const text = (version: number): string =>
      `export default [["watched", (job) => console.log("version ${version} got", job.input)]];`;
    const file = handlersFile("watched.mjs", text(1));
    const worker = work([file, "--queues", queue, "--watch"]);
    await worker.until("working on");
    await db.engine.enqueue({ type: "watched", queue, input: "a" });
    await worker.until("version 1 got a");
    handlersFile("watched.mjs", "export default 5;");
    await worker.until("the worker ended with 2");
    expect(worker.stderr).toContain("has no handlers (export default a function");
    handlersFile("watched.mjs", text(2));
    await worker.until("working on", 2);
    await db.engine.enqueue({ type: "watched", queue, input: "b" });
    await worker.until("version 2 got b");
    worker.pressControlC();
    const { code, stdout } = await worker.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/stopped: 1 succeeded, 0 failed attempts\n$/);
  });

  it("says what is wrong with a file, and with the database", async () => {
    const thrown = handlersFile("thrown.mjs", 'throw new Error("no configuration");');
    const none = handlersFile("none.mjs", "export default [];");
    const good = handlersFile("good.mjs", 'export default [["x", () => {}]];');
    const [missing, broken, empty, queue, schema] = await Promise.all([
      millrace(["work", "nowhere.mjs"], { url: db.url }),
      millrace(["work", thrown], { url: db.url }),
      millrace(["work", none], { url: db.url }),
      millrace(["work", good, "--queues", "nowhere"], { url: db.url }),
      millrace(["work", good, "--schema", "elsewhere"], { url: db.url }),
    ]);
    expect(missing).toMatchObject({ code: 2, stderr: "millrace: there is no file nowhere.mjs\n" });
    expect(broken).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/thrown\.mjs cannot be loaded\nError: no configuration\n +at/),
    });
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining("no handlers") });
    expect(queue).toMatchObject({ code: 2, stderr: expect.stringContaining("nowhere") });
    expect(schema).toMatchObject({ code: 2, stderr: expect.stringContaining("millrace migrate --schema elsewhere") });
  });
});
