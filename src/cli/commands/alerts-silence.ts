import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { durationSeconds } from "../../job/duration.js";
import { userName } from "../user-name.js";

export const alertsSilenceCommand: Command = {
  name: "alerts silence",
  summary: "send no notifications for a rule, or for one subject of it, for a time",
  details: [
    "It fires and shows all the same. What still fires when the silence ends is sent then. The end of",
    "what was sent before is sent then, too. Your user name is noted.",
  ],
  arguments: [
    { name: "NAME", help: "the rule" },
    { name: "DURATION", help: 'such as "2h"; 0 ends the silence' },
  ],
  options: {
    subject: { value: "NAME", help: 'only this subject, as alerts tell it: "mail", "mail/send"' },
    because: { value: "TEXT", help: "why; shown with the rule" },
    ...databaseOptions,
  },
  examples: [
    'millrace alerts silence old-mail 2h --because "the provider is down"',
    "millrace alerts silence oldest-job 2h --subject mail",
    "millrace alerts silence old-mail 0",
  ],
  async run({ args, options, out }) {
    const [name, text] = args as [string, string];
    const seconds = text === "0" ? 0 : durationSeconds(text, "DURATION");
    return withDatabase(options, async ({ engine }) => {
      const { subject } = options.pick("subject");
      await engine.alertSilence(name, seconds, { by: userName(), ...options.pick("subject", "because") });
      const what = subject === undefined ? name : `${name} of ${subject}`;
      out.result(
        { name, ...options.pick("subject"), seconds },
        seconds === 0 ? `${what} is silent no more` : `${what} is silent for ${text}`,
      );
      return 0;
    });
  },
};
