import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { textTable } from "../text-table.js";

export const alertsRulesCommand: Command = {
  name: "alerts rules",
  summary: "list the rules: what they watch, which web hooks they notify, and whether they are on or silenced",
  arguments: [],
  options: databaseOptions,
  examples: ["millrace alerts rules"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const rules = await engine.alertRules();
      out.result(
        rules,
        textTable(
          [
            { title: "RULE" },
            { title: "KIND" },
            { title: "STATE" },
            { title: "FOR" },
            { title: "HOOKS" },
            { title: "LOOKS AT" },
          ],
          rules.map(({ name, kind, on, silencedUntil, silences, forSeconds, hooks, options: what }) => [
            name,
            kind,
            [
              !on ? "off" : silencedUntil ? `silenced until ${time(silencedUntil)}` : "on",
              ...silences.map(({ subject, until }) => `${subject} silenced until ${time(until)}`),
            ].join(", "),
            `${forSeconds} s`,
            hooks.join(", "),
            Object.entries(what)
              .map(([key, value]) => `${key} ${value}`)
              .join(", "),
          ]),
          out.width,
        ),
      );
      return 0;
    });
  },
};
