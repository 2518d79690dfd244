import type { ScheduleChange, SchedulePolicy } from "../../db/schedule-engine.js";
import type { Json } from "../../db/types.js";
import { describeRule } from "../../schedule/describe-rule.js";
import { Slots } from "../../schedule/slots.js";
import { durationSeconds } from "../../job/duration.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { jsonArgument } from "../json-argument.js";
import type { Options } from "../options.js";
import { ruleOf, ruleOptions } from "../schedule-rule.js";
import { UsageError } from "../usage-error.js";
import { userName } from "../user-name.js";

const kinds = ["cron", "every", "after", "rrule", "at"];

export const schedulesPutCommand: Command = {
  name: "schedules put",
  summary: "create or change a schedule: when it runs, and which job it makes",
  details: [
    "What is given is the whole schedule: an option that is left out has its default, whatever it was before. The same again changes nothing. What code declares is declared again when that code starts.",
    "`--after` counts from the end of each run. Kinds of rules, and all options, are explained in docs/schedules.md.",
  ],
  arguments: [{ name: "NAME", help: "the schedule" }],
  options: {
    ...ruleOptions,
    after: { value: "DURATION", help: 'a fixed delay after the end of each run, such as "10s"' },
    jitter: { value: "DURATION", help: "start up to this much later, each slot by an amount of its own" },
    calendars: { value: "NAMES", help: "leave out the days of these calendars, such as holidays,inventory" },
    type: { value: "TYPE", help: "the type of its jobs" },
    input: {
      value: "JSON",
      help: "their input: JSON, `@file`, or `-` for standard input (default null)",
      isFile: true,
    },
    queue: { value: "NAME", help: "their queue (default: default)" },
    job: {
      value: "JSON",
      help: 'other options of theirs, as in docs/options.md, such as \'{"maxAttempts": 3, "deadlineSeconds": 600}\'',
    },
    overlap: {
      value: "WHAT",
      help: "a slot that comes while a run goes on (default queue)",
      choices: ["queue", "skip", "allow", "cancel"],
    },
    missed: {
      value: "WHAT",
      help: "slots that were missed because no worker ran: last, none, all=N (the latest N) or within=DURATION (default last)",
    },
    "after-failure": {
      value: "WHAT",
      help: "a run that fails: retry, skip, or stopAfter=N failed runs (default retry)",
    },
    "max-runs": { value: "N", help: "how many runs at most" },
    "keep-runs": { value: "N", help: "how many runs are kept on record (default 100)" },
    app: {
      value: "NAME",
      help: "the application it belongs to, which tells of schedules that its code does not declare (default none)",
    },
    release: { value: "N", help: "its version: nothing is changed when a higher one was declared before" },
    ...databaseOptions,
  },
  examples: [
    `millrace schedules put nightly --cron "0 3 * * *" --tz Europe/Berlin --type report --input '{"kind": "daily"}'`,
    "millrace schedules put sync --every 10s --type sync --overlap skip --missed none",
    "millrace schedules put poll --after 30s --type poll --queue slow --after-failure stopAfter=5",
  ],
  async run({ args, options, out }) {
    const [name] = args as [string];
    const rule = ruleOf(options, kinds);
    if (!rule) throw new UsageError("nothing says when", `give one of ${kinds.map((kind) => `--${kind}`).join(", ")}`);
    const type = options.given("type");
    if (type === undefined) throw new UsageError("--type is missing", "give the type of its jobs");
    const more = (await jsonArgument(options.given("job"), "--job")) ?? {};
    if (typeof more !== "object" || Array.isArray(more))
      throw new UsageError("--job is not a JSON object", "write it as '{\"maxAttempts\": 3}'");
    const input = await jsonArgument(options.given("input"), "--input");
    const release = options.givenInteger("release", 1, 2_147_483_647);
    return withDatabase(options, async ({ engine }) => {
      const now = (await engine.schedules.now()).getTime();
      const blocked = await engine.schedules.blockedDays(rule.calendars ?? []);
      const slots = new Slots(rule, { createdAt: now, blocked: new Set(blocked) });
      if (slots.next(now) === null)
        throw new UsageError(
          `schedule "${name}" would never run`,
          "check its times, --starts-at, --ends-at and --except",
        );
      const answer = await engine.schedules.put(name, {
        rule: rule as unknown as Json,
        job: { ...more, type, ...options.pick("queue") },
        input,
        options: optionsOf(options),
        by: userName(),
        ...options.pick("app"),
        ...(release === undefined ? {} : { version: release }),
      });
      if (answer.change === "older") {
        out.result({ name, ...answer }, [`${name} was declared with a higher release, and is as it was`]);
        return 1;
      }
      out.result({ name, ...answer }, [`${name} is ${answer.change}: ${describeRule(rule)}`, ...wasDeclared(answer)]);
      return 0;
    });
  },
};

function optionsOf(options: Options): SchedulePolicy {
  const maxRuns = options.givenInteger("max-runs", 1, 2_147_483_647);
  const keepRuns = options.givenInteger("keep-runs", 1, 10_000);
  const missed = missedOf(options.given("missed"));
  const afterFailure = afterFailureOf(options.given("after-failure"));
  return {
    ...(options.pick("overlap") as Pick<SchedulePolicy, "overlap">),
    ...(missed === undefined ? {} : { missed }),
    ...(afterFailure === undefined ? {} : { afterFailure }),
    ...(maxRuns === undefined ? {} : { maxRuns }),
    ...(keepRuns === undefined ? {} : { keepRuns }),
  };
}

function missedOf(text: string | undefined): SchedulePolicy["missed"] {
  if (text === undefined || text === "last" || text === "none") return text;
  const [, all] = /^all=(\d+)$/.exec(text) ?? [];
  if (all !== undefined) return { all: Number(all) };
  const [, within] = /^within=(.+)$/.exec(text) ?? [];
  if (within !== undefined) return { withinSeconds: durationSeconds(within, "--missed within") };
  throw new UsageError(`--missed cannot be "${text}"`, "use last, none, all=100 or within=3h");
}

function afterFailureOf(text: string | undefined): SchedulePolicy["afterFailure"] {
  if (text === undefined || text === "retry" || text === "skip") return text;
  const [, stopAfter] = /^stopAfter=(\d+)$/i.exec(text) ?? [];
  if (stopAfter !== undefined) return { stopAfter: Number(stopAfter) };
  throw new UsageError(`--after-failure cannot be "${text}"`, "use retry, skip or stopAfter=3");
}

/** Whoever changes what others declare should know. */
function wasDeclared({ change, was }: ScheduleChange): string[] {
  return change === "changed" && was?.declaredBy
    ? [`before, it was declared by ${was.declaredBy} at ${time(was.declaredAt)}`]
    : [];
}
