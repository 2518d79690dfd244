import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const alertsHookPutCommand: Command = {
  name: "alerts hook-put",
  summary: "add or change a web hook that alerts can be sent to",
  details: [
    "What is sent is signed (docs/alerts.md). A new one gets a secret, which is printed now and never again. To bring your own, set MILLRACE_HOOK_SECRET.",
  ],
  arguments: [
    { name: "NAME", help: "the web hook" },
    { name: "ADDRESS", help: "https://… or http://…" },
  ],
  options: databaseOptions,
  examples: ["millrace alerts hook-put ops https://hooks.example.com/millrace"],
  async run({ args, options, out }) {
    const [name, url] = args as [string, string];
    const own = process.env["MILLRACE_HOOK_SECRET"];
    return withDatabase(options, async ({ engine }) => {
      const { secret } = await engine.hookPut(name, { url, ...(own ? { secret: own } : {}) }, userName());
      out.result(
        { name, ...(secret === undefined ? {} : { secret }) },
        secret === undefined ? `${name} is set` : [`${name} is set; its secret, which is not shown again:`, secret],
      );
      return 0;
    });
  },
};
