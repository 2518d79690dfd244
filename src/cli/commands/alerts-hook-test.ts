import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const alertsHookTestCommand: Command = {
  name: "alerts hook-test",
  summary: "send a test to a web hook now; prints the job that sends it",
  arguments: [{ name: "NAME", help: "the web hook" }],
  options: databaseOptions,
  examples: ["millrace alerts hook-test ops"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      const job = await engine.hookTest(name, userName());
      out.result({ name, job }, `job ${job} sends it; see: millrace jobs show ${job}`);
      return 0;
    });
  },
};
