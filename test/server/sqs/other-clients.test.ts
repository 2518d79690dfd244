import { CreateQueueCommand, GetQueueAttributesCommand, GetQueueUrlCommand } from "@aws-sdk/client-sqs";
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Producer } from "sqs-producer";
import { Squiss } from "squiss-ts";
import { afterAll, describe, expect, it } from "vitest";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";
import { until } from "../../support/wait.js";

const db = useDatabase();
const sqs = useSqs(db);
const support = (file: string): string => new URL(`../../support/${file}`, import.meta.url).pathname;
const runs = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: "ignore" }).status === 0;
/** Those take minutes, and are not everywhere: `npm run test:clients`. */
const isWanted = process.env["ALL_CLIENTS"] !== undefined;
/** The command of Debian speaks the Query protocol, newer ones speak JSON: whatever is there is tried. */
const commands = ["aws", "/usr/bin/aws"];
const hasCelery = isWanted && runs("/usr/bin/python3", "-c", "import celery, boto3, pycurl");

const folder = mkdtempSync(path.join(tmpdir(), "millrace-clients-"));
const processes: ChildProcess[] = [];
afterAll(() => {
  for (const process of processes) process.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

describe("JavaScript", () => {
  it("sqs-producer sends, one and many, and asks how many there are [sqs 66]", async () => {
    const { QueueUrl } = await sqs.client.send(new CreateQueueCommand({ QueueName: newName() }));
    const producer = Producer.create({ queueUrl: QueueUrl!, sqs: sqs.client });
    await producer.send("one");
    const many = Array.from({ length: 25 }, (_, i) => ({ id: `id-${i}`, body: `m${i}`, delaySeconds: i % 2 ? 60 : 0 }));
    expect(await producer.send(many)).toHaveLength(25);
    expect(await producer.queueSize()).toBe(14);
  });

  it("squiss-ts sends, receives, gives back and deletes [sqs 66]", async () => {
    const QueueName = newName();
    await sqs.client.send(new CreateQueueCommand({ QueueName }));
    const squiss = new Squiss({
      awsConfig: {
        region: "us-east-1",
        endpoint: sqs.server.url,
        credentials: { accessKeyId: "any", secretAccessKey: "anyanyany" },
      },
      queueName: QueueName,
      correctQueueUrl: true,
      bodyFormat: "json",
      receiveWaitTimeSecs: 1,
      deleteWaitMs: 50,
    });
    const tried = new Map<number, number>();
    const deleted: number[] = [];
    squiss.on("message", (message) => {
      const { n } = message.body as { n: number };
      tried.set(n, (tried.get(n) ?? 0) + 1);
      if (n === 3 && tried.get(n) === 1) void message.release();
      else void message.del().then(() => deleted.push(n));
    });
    await squiss.sendMessages(Array.from({ length: 12 }, (_, n) => ({ n })));
    await squiss.start();
    await until("all were deleted", () => deleted.length === 12);
    await squiss.stop();
    expect(tried.get(3)).toBe(2);
    expect(deleted.sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n));
  });
});

describe("the command line of AWS", () => {
  it.for(commands)("%s does all of it [sqs 67]", { timeout: 120_000 }, async (command, { skip }) => {
    if (!isWanted || !runs(command, "--version")) skip();
    const { stdout } = await promisify(execFile)("bash", [
      support("sqs-awscli.sh"),
      command,
      sqs.server.url,
      newName(),
    ]);
    expect(stdout.trim().split("\n")).toEqual([
      "listed 2",
      "same yes",
      "tags by-hand",
      "sources 1",
      "sent 2",
      'got one <&> "1"\t1\t1',
      "third three",
      "counts 0\t2\t20",
      "changed 7 None\tyes",
      "NonExistentQueue",
    ]);
  });
});

describe.skipIf(!hasCelery)("Celery", () => {
  const queue = newName();
  const file = path.join(folder, "seen.txt");
  const seen = (): string[] => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
  const environment = () => ({
    ...process.env,
    BROKER: `sqs://any:anyanyany@localhost:${new URL(sqs.server.url).port}//`,
    QUEUE: queue,
    SEEN: file,
    PYTHONPATH: path.dirname(support("sqs-celery.py")),
  });
  const worker = (): ChildProcess => {
    const args = [
      "-m",
      "celery",
      "-A",
      "sqs-celery",
      "worker",
      "--pool=prefork",
      "--concurrency=2",
      "--loglevel=WARNING",
      "--without-gossip",
      "--without-mingle",
    ];
    const child = spawn("/usr/bin/python3", args, {
      env: environment(),
      cwd: folder,
      stdio: ["ignore", "inherit", "inherit"],
      detached: true,
    });
    processes.push(child);
    return child;
  };
  const send = async (code: string): Promise<void> => {
    const script = `import importlib; tasks = importlib.import_module("sqs-celery")\n${code}`;
    await promisify(execFile)("/usr/bin/python3", ["-c", script], { env: environment(), cwd: folder });
  };

  it("a thousand tasks, one that comes later, one that is tried again, one whose worker is killed [sqs 68]", async () => {
    await send(
      "for n in range(1000): tasks.add.delay(n)\ntasks.add.apply_async(('later',), countdown=2)\ntasks.flaky.delay()",
    );
    const first = worker();
    await until("all have run", () => seen().length >= 1004, 100_000);
    expect(new Set(seen())).toEqual(
      new Set([...Array.from({ length: 1000 }, (_, n) => `add ${n}`), "add later", "flaky 0", "flaky 1", "flaky 2"]),
    );
    await send("tasks.slow.delay()");
    await until("it has begun", () => seen().includes("slow begins"));
    const ended = once(first, "exit");
    process.kill(-first.pid!, "SIGKILL");
    await ended;
    const second = worker();
    await until("another worker has done it", () => seen().includes("slow ends"), 60_000);
    expect(seen().filter((line) => line === "slow begins")).toHaveLength(2);
    const { QueueUrl } = await sqs.client.send(new GetQueueUrlCommand({ QueueName: queue }));
    await until("nothing is left", async () => {
      const AttributeNames = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"] as const;
      const { Attributes } = await sqs.client.send(
        new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] }),
      );
      return Object.values(Attributes!).every((count) => count === "0");
    });
    process.kill(-second.pid!, "SIGKILL");
  }, 240_000);
});
