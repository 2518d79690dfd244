#!/usr/bin/env node
import { parseArgs } from "node:util";
import { MillraceError } from "../db/errors.js";
import { demo } from "./demo.js";
import { migrateCommand } from "./migrate.js";
import { repairCommand } from "./repair.js";

const help = `millrace: a job queue on PostgreSQL

  millrace migrate            install the schema, or bring it to this release
  millrace migrate --status   compare the schema with this release; exit 1 when they differ
  millrace migrate --print    print the whole schema as SQL for psql, touching nothing
  millrace repair             after a dump was restored into another server
  millrace demo               enqueue, claim and finish a few thousand jobs on an embedded PostgreSQL

Options
  --schema NAME     the schema to use (default millrace)
  --url URL         the database (default: the environment variable DATABASE_URL)

Examples
  DATABASE_URL=postgres://localhost/app millrace migrate
  millrace migrate --print --schema jobs | psql app
`;

const commands: Record<string, (options: CliOptions) => Promise<number>> = { demo, migrate: migrateCommand, repair: repairCommand };

export interface CliOptions {
  readonly schema: string;
  readonly url: string | undefined;
  readonly status: boolean;
  readonly print: boolean;
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      schema: { type: "string", default: "millrace" },
      url: { type: "string" },
      status: { type: "boolean", default: false },
      print: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const command = commands[positionals[0] ?? ""];
  if (values.help || !command) {
    (values.help ? process.stdout : process.stderr).write(help);
    return values.help ? 0 : 2;
  }
  return command({ schema: values.schema, url: values.url ?? process.env["DATABASE_URL"], status: values.status, print: values.print });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const known = error instanceof MillraceError || (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS");
  process.stderr.write(`millrace: ${known ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`);
  process.exitCode = known ? 2 : 1;
}
