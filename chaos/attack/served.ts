import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Role } from "./run.js";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** A token for each role; nobody but this machine hears of the server that takes them. */
export const tokens: Readonly<Record<Role, string>> = {
  producer: "the-producer",
  worker: "the-worker",
  reader: "the-reader",
  admin: "the-admin",
};

/** A `millrace serve` of its own process. */
export interface Served {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Start one: with tokens, or open to everybody, which lets SQS clients sign with any key. What it blames itself for is
 * added to `complaints`.
 */
export async function serve(databaseUrl: string, complaints: string[], isOpen: boolean): Promise<Served> {
  const lines = Object.entries(tokens).map(
    ([role, token]) => `${token} ${role} ${createHash("sha256").update(token).digest("hex")}`,
  );
  const child = spawn(
    process.execPath,
    [cli, "serve", "--json", "--port", "0", "--drain-delay", "0s", "--rate", "100000", "--log-level", "error"],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, DATABASE_URL: databaseUrl, ...(isOpen ? {} : { MILLRACE_TOKENS: lines.join(";") }) },
    },
  );
  createInterface({ input: child.stderr }).on("line", (line) => void complaints.push(line));
  const closed = once(child, "close");
  return { url: await listening(child, complaints), stop: async () => void (child.kill("SIGTERM"), await closed) };
}

async function listening(child: ChildProcess, complaints: readonly string[]): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const said = JSON.parse(line) as { readonly event: string; readonly url?: string };
    if (said.event === "listening" && said.url !== undefined) return said.url;
  }
  throw new Error(`the server did not start: ${complaints.join("; ")}`);
}
