import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { durationSeconds } from "../../job/duration.js";
import { userName } from "../user-name.js";

export const alertsSilenceCommand: Command = {
  name: "alerts silence",
  summary: "send no notifications for a rule, for a time",
  details: [
    "It fires and shows all the same. What still fires when the silence ends is sent then. Your user name is noted.",
  ],
  arguments: [
    { name: "NAME", help: "the rule" },
    { name: "DURATION", help: 'such as "2h"; 0 ends the silence' },
  ],
  options: { because: { value: "TEXT", help: "why; shown with the rule" }, ...databaseOptions },
  examples: [
    'millrace alerts silence old-mail 2h --because "the provider is down"',
    "millrace alerts silence old-mail 0",
  ],
  async run({ args, options, out }) {
    const [name, text] = args as [string, string];
    const seconds = text === "0" ? 0 : durationSeconds(text, "DURATION");
    return withDatabase(options, async ({ engine }) => {
      await engine.alertSilence(name, seconds, { by: userName(), ...options.pick("because") });
      out.result({ name, seconds }, seconds === 0 ? `${name} is silent no more` : `${name} is silent for ${text}`);
      return 0;
    });
  },
};
