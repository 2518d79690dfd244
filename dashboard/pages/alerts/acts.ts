import { segment, send } from "../../api.js";
import { now } from "../../clock.js";
import { plural } from "../../format.js";
import { type Act, type Field, type Values, because, numberOf } from "../../parts/act.js";
import { authorNow, reasonAgain } from "../../parts/again.js";
import { isolated } from "../../parts/isolated.js";
import { toast } from "../../parts/toast.js";
import type { AlertRule, Hook } from "../../wire.js";

const rulePath = (name: string): string => `alerts/rules/${segment(name)}`;
const hookPath = (name: string): string => `alerts/hooks/${segment(name)}`;

/** What a rule can watch, in words, and what is said of each. */
const kinds: Readonly<Record<AlertRule["kind"], readonly [words: string, options: readonly string[]]>> = {
  oldest: ["the oldest ready job is too old", ["queue", "type", "seconds"]],
  failures: ["too many attempts fail", ["queue", "type", "share", "minRuns", "windowSeconds"]],
  breaker: ["a circuit breaker is open", ["queue", "type"]],
  schedule: ["a schedule fails or stands still", ["schedule"]],
  unhandled: ["jobs wait and no worker handles them", ["queue", "type", "seconds"]],
  workers: ["too few workers", ["queue", "type", "minWorkers"]],
  backlog: ["the backlog grows", ["queue", "type", "growth", "windowSeconds"]],
  size: ["the tables are too large", ["bytes"]],
};

/** A rule as the server takes it. */
const bodyOf = ({ kind, options, forSeconds, remindSeconds, hooks, on }: AlertRule) => ({
  kind,
  ...options,
  forSeconds,
  remindSeconds,
  hooks,
  on,
});

const number = (name: string, label: string, hint: string, min = 1): Field => ({
  name,
  label,
  kind: "number",
  min,
  hint,
});
const details: readonly Field[] = [
  { name: "queue", label: "Queue", hint: "empty: any" },
  { name: "type", label: "Type", hint: "of that queue; empty: any" },
  { name: "schedule", label: "Schedule", hint: "empty: any" },
  number("seconds", "Seconds", "how long is too long; empty: 900 for the oldest, 300 without a worker"),
  number("share", "Share", "of attempts, 0 to 1; empty: 0.5", 0),
  number("minRuns", "Attempts at least", "fewer say nothing; empty: 20"),
  number("windowSeconds", "Within seconds", "empty: 300 for failures, 1800 for a backlog", 60),
  number("growth", "Jobs more", "than at its beginning; empty: 10000"),
  number("minWorkers", "Workers at least", "empty: 1"),
  number("bytes", "Bytes", "such as 50000000000"),
];

const forSeconds = number("forSeconds", "For seconds", "how long it must hold before it fires", 0);

const remindSeconds = number(
  "remindSeconds",
  "Remind after seconds",
  "how often what goes on is sent again; 0: never",
  0,
);

export const putRule = (hooks: readonly string[], rule?: AlertRule): Act => {
  const optionsOf = (values: Values): readonly string[] => kinds[values["kind"] as AlertRule["kind"]][1];
  return {
    title: rule ? `Rule ${rule.name}` : "Make a rule",
    explain: "It fires when its condition has held for so long.",
    fields: [
      ...(rule ? [] : [{ name: "name", label: "Name", required: true, hint: "such as old-mail" }]),
      {
        name: "kind",
        label: "Kind",
        choices: Object.entries(kinds).map(([kind, [words]]) => [kind, `${kind}: ${words}`] as const),
        value: rule?.kind ?? "oldest",
      },
      ...details.map((field) => ({
        ...field,
        value: String(rule?.options[field.name] ?? ""),
        when: (values: Values) => optionsOf(values).includes(field.name),
      })),
      { ...forSeconds, value: String(rule?.forSeconds ?? 60) },
      { ...remindSeconds, value: String(rule?.remindSeconds ?? 86_400) },
      {
        name: "hooks",
        label: "Web hooks",
        value: rule?.hooks.join(", ") ?? "",
        hint: hooks.length > 0 ? `names, with commas: ${hooks.join(", ")}` : "there is none yet",
      },
    ],
    button: "Set",
    run: (values) => {
      const body: Record<string, unknown> = { kind: values["kind"], on: rule?.on ?? true };
      for (const { name, kind } of [...details, forSeconds, remindSeconds]) {
        const value = kind === "number" ? numberOf(values[name]) : values[name];
        if (value !== undefined && value !== "") body[name] = value;
      }
      body["hooks"] = (values["hooks"] ?? "")
        .split(",")
        .map((name) => name.trim())
        .filter(Boolean);
      return send("PUT", rulePath(rule?.name ?? values["name"]!), body);
    },
    done: (_answer, values) => `${rule?.name ?? values["name"]} is set`,
    ...(rule && { undo: () => send("PUT", rulePath(rule.name), bodyOf(rule)) }),
  };
};

export const turn = (rule: AlertRule): Act => ({
  title: `Turn ${rule.name} ${rule.on ? "off" : "on"}`,
  explain: rule.on ? "It is not looked at any more; what it has fired is resolved." : "It is looked at from now on.",
  button: rule.on ? "Turn off" : "Turn on",
  run: () => send("PUT", rulePath(rule.name), { ...bodyOf(rule), on: !rule.on }),
  done: () => `${rule.name} is ${rule.on ? "off" : "on"}`,
  undo: () => send("PUT", rulePath(rule.name), bodyOf(rule)),
});

/** What silences a rule, or one subject of it: until when, by whom and why. */
interface Silence {
  readonly until: string;
  readonly by: string | null;
  readonly because: string | null;
}

const silencePost = (name: string, seconds: number, subject: string | undefined, why?: string | null) =>
  send("POST", `${rulePath(name)}/silence`, {
    seconds,
    ...(subject !== undefined && { subject }),
    ...reasonAgain(why),
  });

/** The rest of a silence, from now on. */
const silenceAgain = (name: string, { until, because: why }: Silence, subject?: string) =>
  silencePost(name, Math.max(1, (Date.parse(until) - now.peek()) / 1000), subject, why);

const ruleSilence = ({ silencedUntil, silencedBy, silencedBecause }: AlertRule): Silence | undefined =>
  silencedUntil === null ? undefined : { until: silencedUntil, by: silencedBy, because: silencedBecause };
const silenceOf = (rule: AlertRule, subject: string | undefined): Silence | undefined =>
  subject === undefined ? ruleSilence(rule) : rule.silences.find((one) => one.subject === subject);
const of = ({ name }: Pick<AlertRule, "name">, subject: string | undefined): string =>
  subject === undefined ? name : `${name} of ${isolated(subject)}`;

export const silence = (rule: AlertRule, subject?: string): Act => {
  const before = silenceOf(rule, subject);
  const what = of(rule, subject);
  return {
    title: `Silence ${what}`,
    explain:
      "It fires and shows all the same, and sends nothing meanwhile. What still fires then is sent, and so is the end of what was sent before.",
    fields: [{ name: "minutes", label: "Minutes", kind: "number", min: 1, value: "60", required: true }, because],
    button: "Silence",
    run: ({ minutes, because: why }) => silencePost(rule.name, 60 * Number(minutes), subject, why),
    done: (_answer, { minutes }) => `${what} is silent for ${minutes} min`,
    ...(before
      ? { instead: () => silencedAgain(rule, before, subject) }
      : { undo: () => silencePost(rule.name, 0, subject) }),
  };
};

const silencedAgain = (rule: AlertRule, before: Silence, subject: string | undefined) => ({
  button: "As it was",
  run: () => silenceAgain(rule.name, before, subject),
  done: `${of(rule, subject)} is silent for as long as before, ${authorNow(before.by)}`,
});

export const unsilence = (rule: AlertRule, subject?: string): Act => {
  const before = silenceOf(rule, subject);
  return {
    title: `End silence of ${of(rule, subject)}`,
    explain: "What fires is sent again, and what has fired or ended meanwhile too.",
    button: "End it",
    run: () => silencePost(rule.name, 0, subject),
    done: () => `${of(rule, subject)} is silent no more`,
    ...(before && { instead: () => ({ ...silencedAgain(rule, before, subject), button: "Silence again" }) }),
  };
};

export const removeRule = (rule: AlertRule): Act => {
  const before = ruleSilence(rule);
  const silences = rule.silences.length + (before ? 1 : 0);
  return {
    title: `Remove ${rule.name}`,
    explain: "The rule is forgotten; what it has fired is resolved.",
    button: "Remove",
    danger: true,
    run: () => send("DELETE", rulePath(rule.name)),
    done: () => `${rule.name} is removed`,
    instead: () => ({
      button: "Make it again",
      run: async () => {
        await send("PUT", rulePath(rule.name), bodyOf(rule));
        if (before) await silenceAgain(rule.name, before);
        for (const one of rule.silences) await silenceAgain(rule.name, one, one.subject);
      },
      done: `${rule.name} is made again${silences > 0 ? `, with ${plural(silences, "silence")} in your name` : ""}; what it had fired begins anew`,
    }),
  };
};

/** The secret is shown once, by `show`. */
export const putHook = (show: (name: string, secret: string) => void): Act => ({
  title: "Set a web hook",
  explain:
    "An address that alerts may be sent to, signed with a secret. A new one gets its secret when none is given; it is shown once. The address is not shown again either.",
  fields: [
    { name: "name", label: "Name", required: true, hint: "such as ops" },
    { name: "url", label: "Address", required: true, hint: "https://…" },
    { name: "secret", label: "Secret", hint: "16 characters at least; empty for a new one, or to keep the one it has" },
  ],
  button: "Set",
  run: ({ name, url, secret }) => send("PUT", hookPath(name!), { url, ...(secret && { secret }) }),
  done: (answer, { name }) => {
    const { secret } = answer as { secret?: string };
    if (secret) show(name!, secret);
    return `${name} is set`;
  },
});

export const testHook = ({ name }: Hook): Act => ({
  title: `Test ${name}`,
  explain: "Something is sent there now, by a job; whether it arrives shows there.",
  button: "Send",
  run: () => send("POST", `${hookPath(name)}/test`),
  done: (answer) => `Job ${(answer as { job: string }).job} sends it`,
});

export const removeHook = ({ name }: Hook): Act => ({
  title: `Remove ${name}`,
  explain: "Nothing is sent there any more, and rules lose it. Its secret is forgotten.",
  button: "Remove",
  danger: true,
  run: () => send("DELETE", hookPath(name)),
  done: () => `${name} is removed`,
  after: () => toast("Rules that told it tell nobody, unless they have others"),
});
