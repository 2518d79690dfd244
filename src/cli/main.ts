#!/usr/bin/env node
import { MillraceError, QueueNotFoundError, missingQueue } from "../db/errors.js";
import { visibleLines } from "../db/visible.js";
import type { ExitCode } from "./command.js";
import { commandHelp, mainHelp } from "./help.js";
import { Output } from "./output.js";
import { parse } from "./parse.js";
import { redact } from "./redact.js";
import { commandGroups, commands } from "./table.js";
import { version } from "../server/version.js";

async function main(argv: readonly string[]): Promise<ExitCode> {
  if (argv.length === 0) {
    process.stderr.write(mainHelp(commandGroups));
    return 2;
  }
  const parsed = parse(argv, commands);
  const out = new Output(argv.includes("--json"));
  if (parsed.kind === "run") return parsed.command.run({ args: parsed.args, options: parsed.options, out, commands });
  if (parsed.kind === "version") out.result({ version: version() }, version());
  else if (parsed.command) out.result(parsed.command, commandHelp(parsed.command, commands));
  else out.result(commands, mainHelp(commandGroups));
  return 0;
}

/** Tell an error: its message when we know it, else where it came from. Then end, whatever is still open. */
function tell(error: unknown, isJson: boolean): void {
  const known = error instanceof MillraceError;
  const { stack, code, ...said } =
    error instanceof Error
      ? { message: error.message, stack: error.stack, code: (error as Error & { code?: unknown }).code }
      : { message: String(error), stack: undefined, code: undefined };
  const remedy = known ? (commandFor(error) ?? error.remedy) : undefined;
  const message =
    known && error.remedy !== undefined ? said.message.replace(error.remedy, () => remedy!) : said.message;
  const cause = known && error.cause instanceof Error && error.name === "UsageError" ? `\n${error.cause.stack}` : "";
  const text = isJson
    ? JSON.stringify({ error: { code, message, remedy } })
    : `millrace: ${known ? message + cause : (stack ?? message)}`;
  process.stderr.write(`${visibleLines(redact(text))}\n`, () => process.exit(2));
}

/** A remedy of the library names a method; here it is a command. */
function commandFor(error: MillraceError): string | undefined {
  const queue = error instanceof QueueNotFoundError ? missingQueue(error.message) : undefined;
  if (queue === undefined) return undefined;
  return `create it with: millrace queues put ${/^[\w.:-]+$/.test(queue) ? queue : `'${queue.replaceAll("'", "'\\''")}'`}`;
}

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0); // whoever read us has seen enough
  throw error;
});

const argv = process.argv.slice(2);
try {
  process.exitCode = await main(argv);
} catch (error) {
  tell(error, argv.includes("--json"));
}
