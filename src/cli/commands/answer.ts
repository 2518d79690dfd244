import { Millrace } from "../../client/millrace.js";
import { TokenRefusedError } from "../../db/errors.js";
import { type Command, databaseOptions } from "../command.js";
import { databaseUrl } from "../database.js";
import { jsonArgument } from "../json-argument.js";

export const answerCommand: Command = {
  name: "answer",
  summary: "answer a run that waits on a callback token",
  details: [
    "The token is that of `step.token`; it counts once, until it expires.",
    "The exit code is 1 when it was used, has expired, or was never given out.",
  ],
  arguments: [
    { name: "TOKEN", help: "the callback token" },
    {
      name: "VALUE",
      help: "the value for its job: JSON, `@file`, or `-` for standard input (default null)",
      optional: true,
      isFile: true,
    },
  ],
  options: databaseOptions,
  examples: [`millrace answer "$TOKEN" '{"approved": true}'`, 'millrace answer "$TOKEN" @event.json'],
  async run({ args, options, out }) {
    const [token, argument] = args as [string, string?];
    const value = await jsonArgument(argument, "VALUE");
    const mill = new Millrace({
      connection: { connectionString: databaseUrl(options), max: 2, application_name: "millrace cli" },
      schema: options.text("schema"),
    });
    try {
      const { job, name } = await mill.answer(token, value);
      out.result({ answered: true, job, name }, `answered "${name}" of ${job}`);
      return 0;
    } catch (error) {
      if (!(error instanceof TokenRefusedError)) throw error;
      out.result({ answered: false, reason: error.reason, because: error.message }, error.message);
      return 1;
    } finally {
      await mill.close();
    }
  },
};
