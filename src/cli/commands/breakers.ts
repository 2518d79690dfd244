import { errorText } from "../../db/error-text.js";
import type { BreakerRecord } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { duration, oneLine, time } from "../format.js";
import { textTable } from "../text-table.js";

export const breakersCommand: Command = {
  name: "breakers",
  summary: "list circuit breakers that have counted failures or are open",
  details: [
    "A queue or a type has one when its option `breaker` is set. The exit code is 1 when one is open or half-open.",
  ],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace breakers", "millrace breakers --json | jq '.[] | select(.state == \"open\")'"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const breakers = await engine.breakers();
      out.result(
        breakers,
        breakers.length === 0 ? "no breaker has counted anything" : breakersTable(breakers, out.width),
      );
      return breakers.every(({ state }) => state === "closed") ? 0 : 1;
    });
  },
};

function breakersTable(breakers: readonly BreakerRecord[], width: number): string[] {
  return textTable(
    [
      { title: "QUEUE" },
      { title: "TYPE" },
      { title: "STATE" },
      { title: "FAILURES", align: "right" },
      { title: "PAUSE" },
      { title: "UNTIL" },
      { title: "LAST ERROR" },
    ],
    breakers.map((one) => [
      one.queue,
      one.type,
      one.state,
      one.failures === null ? "" : `${one.failures}/${one.opensAt}`,
      one.pauseSeconds === null ? "" : duration(one.pauseSeconds * 1000),
      time(one.openUntil),
      oneLine(errorText(one.lastError)),
    ]),
    width,
  );
}
