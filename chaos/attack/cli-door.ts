import { spawn } from "node:child_process";
import { once } from "node:events";
import { text as textOfStream } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { Fault } from "./run.js";
import { json, text } from "./values.js";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** What no program can be started with, and what is longer than a line of it may be. */
const argument = text.map((one) => one.replaceAll("\0", "").replace(/^@long:.*/, "x".repeat(300)));

/** Arguments of `millrace enqueue`. */
export const cliAttack: fc.Arbitrary<string[]> = fc.tuple(
  fc.constant("enqueue"),
  argument,
  json.map((value) => JSON.stringify(value).replaceAll(/@\w+:\d+/g, "x")),
  fc.constantFrom(
    "--queue",
    "--priority",
    "--group",
    "--cost",
    "--delay",
    "--tenant",
    "--stage",
    "--fingerprint",
    "--count",
    "--nothing",
  ),
  argument,
);

/** Run it. It says what is wrong, and ends by itself: never with a stack. */
export async function callCli(url: string, values: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [cli, ...values], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, DATABASE_URL: url },
  });
  const [said, [code]] = await Promise.all([textOfStream(child.stderr), once(child, "close")]);
  if (![0, 1, 2].includes(code as number) || /\n\s+at .+:\d+:\d+/.test(said))
    throw new Fault(`millrace ${values.join(" ")} ended with ${code}: ${said.slice(0, 600)}`);
}
