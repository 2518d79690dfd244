import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { until } from "../support/wait.js";
import { Running, millrace, useFolder } from "./cli.js";

const db = useDatabase();
const folder = useFolder();

describe("serve", () => {
  it("serves those who have a token, reads tokens again on SIGHUP, and stops when it is told", async () => {
    const [ann, bob] = await Promise.all(
      ["ann", "bob"].map(
        async (name) =>
          JSON.parse((await millrace(["tokens", "new", name, "--role", "admin", "--json"])).stdout) as {
            token: string;
            line: string;
          },
      ),
    );
    const file = path.join(folder.path, "tokens.txt");
    writeFileSync(file, `# who may\n${ann!.line}\n`);
    expect(ann!.line).not.toContain(ann!.token);
    expect((await millrace(["tokens", "--tokens", file, "--json"])).stdout).toContain('"name": "ann"');

    const server = new Running(
      [
        "serve",
        "--port",
        "0",
        "--host",
        "0.0.0.0",
        "--tokens",
        file,
        "--prefix",
        "/queue/",
        "--log-level",
        "debug",
        "--drain-delay",
        "300ms",
        "--json",
        "--public-url",
        "https://queue.example.com",
        "--trust-proxy",
        "10.0.0.7, 10.1.0.0/16",
      ],
      { url: db.url },
    );
    await server.until('"listening"');
    const { url, publicUrl } = JSON.parse(server.stdout.split("\n")[0]!) as { url: string; publicUrl: string };
    expect(publicUrl).toBe("https://queue.example.com");
    const base = url.replace("0.0.0.0", "127.0.0.1");
    const ask = async (token: string) =>
      (await fetch(`${base}/api/v1/session`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect([await ask(ann!.token), await ask(bob!.token)]).toEqual([200, 401]);
    writeFileSync(file, bob!.line);
    server.kill("SIGHUP");
    await until("the new token is known", async () => (await ask(bob!.token)) === 200);
    expect(await ask(ann!.token)).toBe(401);
    writeFileSync(file, "nonsense");
    server.kill("SIGHUP");
    await until("somebody complains, or not", async () => (await ask(bob!.token)) === 200);

    server.kill("SIGTERM");
    const ended = await server.ended;
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain('"stopped"');
    const log = ended.stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { time: string; level: string; message: string });
    expect(log.map(({ message }) => message)).toEqual(
      expect.arrayContaining(["listening", "request", "stopping", "stopped"]),
    );
    expect(ended.stderr).not.toContain(ann!.token);
  }, 60_000);

  it("refuses a public URL and proxies that cannot be, and says what would be right [#19]", async () => {
    for (const [option, value, remedy] of [
      ["--public-url", "queue.example.com", "https://queue.example.com"],
      ["--trust-proxy", "proxy.example.com", "10.0.0.0/8"],
    ] as const) {
      const { code, stderr } = await millrace(["serve", "--port", "0", option, value], { url: db.url });
      expect(code).toBe(2);
      expect(stderr).toContain(remedy);
    }
  });

  it("--opentelemetry makes spans of requests, of the API and of SQS clients, below those of whoever asks", async () => {
    const telemetry = new URL("../support/telemetry.mjs", import.meta.url);
    const server = new Running(
      ["serve", "--port", "0", "--opentelemetry", "--log-level", "error", "--drain-delay", "0s", "--json"],
      {
        url: db.url,
        cwd: path.dirname(telemetry.pathname),
        env: { NODE_OPTIONS: `--import ${telemetry.href}` },
      },
    );
    await server.until('"listening"');
    const { url } = JSON.parse(server.stdout.split("\n")[0]!) as { url: string };
    const [trace, parent] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
    const headers = { traceparent: `00-${trace}-${parent}-01` };
    await fetch(`${url}/api/v1/queues`, { headers });
    await fetch(`${url}/?Action=ListQueues`, { headers });
    server.kill("SIGTERM");
    const { stderr } = await server.ended;
    const spans = stderr
      .split("\n")
      .filter((line) => line.startsWith('{"span"'))
      .map((line) => JSON.parse(line) as unknown);
    expect(spans).toEqual(
      ["GET /queues", "SQS.ListQueues"].map((span) =>
        expect.objectContaining({
          span,
          trace,
          parent,
          attributes: expect.objectContaining({ "millrace.request_id": expect.any(String) }),
        }),
      ),
    );
  }, 60_000);

  it("refuses what cannot be", async () => {
    const refused = async (...args: string[]) =>
      (await millrace(["serve", "--port", "0", ...args], { url: db.url })).stderr;
    expect(await refused("--host", "0.0.0.0")).toContain('make tokens with "millrace tokens new"');
    expect(await refused("--prefix", "queue")).toContain('give a path such as "/queue"');
    expect(await refused("--tokens", "/nowhere")).toContain("/nowhere cannot be read");
    expect(await refused("--opentelemetry")).toContain("npm install @opentelemetry/api");
    expect(await refused("--rate", "0")).toContain("--rate");
    writeFileSync(path.join(folder.path, "bad.txt"), "ann admin secret");
    expect(await refused("--tokens", path.join(folder.path, "bad.txt"))).toContain(
      "line 1 of the tokens cannot be read",
    );
    const { port } = new URL(db.url); // PostgreSQL has it
    expect((await millrace(["serve", "--port", port], { url: db.url })).stderr).toContain("give another port");
    expect((await millrace(["tokens", "new", "a b"])).stderr).toContain('a token cannot be named "a b"');
    expect((await millrace(["tokens", "new", "ann", "--role", "king"])).code).toBe(2);
  }, 60_000);
});
