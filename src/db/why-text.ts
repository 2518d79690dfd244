import type { Reason } from "./types/why.js";

/** A part of a sentence: words, a name that somebody chose, what somebody or an error said, a number, or a time. */
export type WhyPart =
  | string
  | { readonly name: string }
  | { readonly said: string }
  | { readonly count: number }
  | { readonly at: string }
  | { readonly jobId: string };

/** How the parts of a sentence are written. */
export interface WhyWords {
  readonly name: (name: string) => string;
  readonly count: (n: number) => string;
  readonly time: (at: Date) => string;
}

const plain: WhyWords = {
  name: (name) => `"${name}"`,
  count: (n) => n.toLocaleString("en"),
  time: (at) => `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`,
};

/** Why something waits, in a short sentence: `type "newsletter" is paused since … by "ann": a wrong text`. */
export function whyText(reason: Reason, words: WhyWords = plain): string {
  return [...howMany(reason), ...whyParts(reason)]
    .map((part) =>
      typeof part === "string"
        ? part
        : "name" in part
          ? words.name(part.name)
          : "said" in part
            ? part.said
            : "count" in part
              ? words.count(part.count)
              : "at" in part
                ? words.time(new Date(part.at))
                : part.jobId,
    )
    .join("");
}

/** In how many jobs a reason is: `3,600 jobs: `. Of one job nothing. */
export function howMany(reason: Reason): readonly WhyPart[] {
  if (reason.jobs === undefined || reason.code === "behind") return [];
  const more = reason.isExact === false ? " or more" : "";
  return [{ count: reason.jobs }, reason.jobs === 1 && more === "" ? " job: " : `${more} jobs: `];
}

/** The same without how many jobs there are, in parts, for those who write names and times in their own way. */
export function whyParts(reason: Reason): readonly WhyPart[] {
  switch (reason.code) {
    case "paused":
      if (reason.groups !== undefined)
        return [
          { count: reason.groups },
          reason.groups === 1 ? " more group is paused" : " more groups are paused, the first",
          " since ",
          { at: reason.since },
        ];
      return [
        ...partOf(reason),
        " is paused since ",
        { at: reason.since },
        ...(reason.by === undefined ? [] : [" by ", { name: reason.by }]),
        ...(reason.because === undefined ? [] : [": ", { said: reason.because }]),
        ...(reason.jobId === undefined ? [] : [", job ", { jobId: reason.jobId }]),
      ];
    case "queueWaits":
      return ["waits until ", ...listOf(reason.queues), reason.queues.length === 1 ? " has" : " have", " finished"];
    case "breakerOpen":
      return [
        "the breaker of ",
        { name: reason.type },
        " is open, next try ",
        { at: reason.until },
        ...(reason.error === undefined ? [] : [": ", { said: reason.error }]),
      ];
    case "breakerProbe":
      return ["the breaker of ", { name: reason.type }, " lets one job at a time through, until one succeeds"];
    case "limit":
      return [
        ...ownerOf(reason),
        " is at its limit: ",
        { count: reason.running },
        " of ",
        { count: reason.maxRunning },
        reason.of === "resource" ? " in use" : " run",
        ...(reason.needs === undefined ? [] : [", each job needs ", { count: reason.needs }]),
      ];
    case "rate":
      return [
        ...ownerOf(reason),
        " may start ",
        { count: reason.perSecond },
        " jobs a second, the next one ",
        { at: reason.until },
      ];
    case "ordered":
      return [
        ...(reason.group === undefined ? [] : ["group ", { name: reason.group }, " goes in order: "]),
        "job ",
        { jobId: reason.jobId },
        " goes first, and ",
        ...(reason.state === "running"
          ? ["runs"]
          : reason.state === "held"
            ? ["an open transaction holds it"]
            : reason.until === undefined
              ? ["is not due"]
              : ["is due ", { at: reason.until }]),
      ];
    case "held":
      return ["an open transaction holds it"];
    case "noWorker":
      if (reason.held === undefined) return ["no worker that is known handles ", { name: reason.type }];
      return reason.held === 1
        ? ["the only worker that handles ", { name: reason.type }, " is paused or drained"]
        : ["all ", { count: reason.held }, " workers that handle ", { name: reason.type }, " are paused or drained"];
    case "behind":
      return [
        ...(reason.jobs === undefined ? ["others go first"] : [{ count: reason.jobs }]),
        ...(reason.isExact === false ? [" or more"] : []),
        ...(reason.jobs === undefined ? [] : [reason.jobs === 1 ? " job goes first" : " jobs go first"]),
        ...(reason.urgent === undefined ? [] : [", ", { count: reason.urgent }, " of a higher priority"]),
        ...(reason.group === undefined ? [] : [", and groups take turns"]),
      ];
    case "next":
      return reason.group === undefined
        ? ["it is next, as soon as a worker has room"]
        : ["it is the next of its group, as soon as the group has its turn"];
    case "backlog":
      return ["wait for a free worker, ", { count: reason.running }, " run"];
    case "time":
      return reason.until === undefined ? ["not due yet"] : ["due ", { at: reason.until }];
    case "retry":
      return ["attempt ", { count: reason.attempt }, " is due ", { at: reason.until }];
    case "stage":
      return ["stage ", { name: reason.stage }, " is not released"];
    case "followUp":
      return [
        "runs after job ",
        { jobId: reason.jobId },
        " has ended, which has its fingerprint ",
        { name: reason.fingerprint },
      ];
    case "signal":
      return ["waits for a signal ", ...listOf(reason.signals, " or ")];
    case "children":
      return [
        "waits for ",
        { count: reason.left ?? reason.of },
        " of ",
        { count: reason.of },
        " children of ",
        { name: reason.step },
      ];
    case "after":
      return ["waits for ", { count: reason.left }, " of ", { count: reason.of }, " jobs to have ", reason.when];
    case "sleep":
      return ["sleeps, and wakes ", { at: reason.until }];
    case "suspended":
      return ["are suspended: they wait for time, a signal or other jobs"];
  }
}

function partOf({ type, group }: { readonly type?: string; readonly group?: string }): readonly WhyPart[] {
  const parts: WhyPart[][] = [
    ...(group === undefined ? [] : [["group ", { name: group }]]),
    ...(type === undefined ? [] : [["type ", { name: type }]]),
  ];
  return parts.length === 0 ? ["the queue"] : parts.flatMap((part, i) => (i === 0 ? part : [" of ", ...part]));
}

function ownerOf({
  of,
  name,
  group,
}: Extract<Reason, { readonly of: string } & { code: "limit" | "rate" }>): readonly WhyPart[] {
  const called = name ?? group;
  return of === "queue" || called === undefined ? ["the queue"] : [`${of} `, { name: called }];
}

const listOf = (names: readonly string[], between = ", "): readonly WhyPart[] =>
  names.flatMap((name, i) => [...(i === 0 ? [] : [between]), { name }]);
