import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import type { AlertRule } from "../../db/types.js";
import { jsonArgument } from "../json-argument.js";
import { UsageError } from "../usage-error.js";
import { userName } from "../user-name.js";

export const alertsPutCommand: Command = {
  name: "alerts put",
  summary: "create or replace a rule; options that are left out get their defaults",
  details: ["The kinds of rules, and what each looks at, are in docs/alerts.md. Your user name is noted."],
  arguments: [
    { name: "NAME", help: "the rule" },
    { name: "RULE", help: "JSON, `@file`, or `-` for standard input", isFile: true },
  ],
  options: databaseOptions,
  examples: [
    `millrace alerts put old-mail '{"kind": "oldest", "queue": "mail", "seconds": 600, "hooks": ["ops"]}'`,
    `millrace alerts put disk-size '{"kind": "size", "bytes": 20000000000}'`,
  ],
  async run({ args, options, out }) {
    const [name, text] = args as [string, string];
    const rule = await jsonArgument(text, "RULE");
    if (typeof rule !== "object" || rule === null || Array.isArray(rule))
      throw new UsageError("RULE is not a JSON object", `write it as '{"kind": "oldest", "seconds": 600}'`);
    return withDatabase(options, async ({ engine }) => {
      await engine.alertPut(name, rule as unknown as AlertRule, userName());
      out.result({ name }, `${name} is set`);
      return 0;
    });
  },
};
