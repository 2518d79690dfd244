/** Acts on many jobs: on those that were chosen, or on all that match. */
import { plural } from "../../format.js";
import { type Act, type Field, because, filled, numberOf } from "../../parts/act.js";
import { type Stepped, countInSteps, inSteps } from "../../parts/in-steps.js";
import { writeQuery } from "../../search/query.js";
import { asked } from "./filter.js";

export type Verb = "retry" | "discard" | "cancel" | "rewind";
/** Ids, or a filter as the search line has it. */
export type Which = { readonly ids: readonly string[] } | { readonly filter: Readonly<Record<string, string>> };

/** So many in each request: often enough to tell how far it is, and to stop. */
const stepJobs = 1000;

const words: Readonly<
  Record<
    Verb,
    {
      readonly name: string;
      /** Which of them. */
      readonly of: string;
      readonly does: string;
      readonly fields: readonly Field[];
      readonly done: string;
      readonly danger?: boolean;
    }
  >
> = {
  retry: {
    name: "Retry",
    of: "that failed or expired, and that nobody has decided on,",
    does: "gets more attempts. This cannot be taken back; a cancel would end them for good.",
    fields: [
      { name: "attempts", label: "More attempts", kind: "number", min: 1, value: "1" },
      { name: "perSecond", label: "Per second", kind: "number", min: 0, hint: "empty: all at once" },
    ],
    done: "will be tried again",
  },
  discard: {
    name: "Discard",
    of: "that failed or expired, and that nobody has decided on,",
    does: "stays on record, but nobody will retry it. This cannot be taken back.",
    fields: [],
    done: "discarded",
    danger: true,
  },
  cancel: {
    name: "Cancel",
    of: "that has not ended",
    does: "is cancelled; those that run hear of it with their next heartbeat. This cannot be taken back.",
    fields: [],
    done: "cancelled",
    danger: true,
  },
  rewind: {
    name: "Rewind",
    of: "that has done this step, and does not run just now,",
    does: "goes back to it and does again what it has done since, with all that it does outside. This cannot be taken back.",
    fields: [{ name: "to", label: "Step", required: true, hint: "with its number where it is used again: poll#2" }],
    done: "go back to the step",
    danger: true,
  },
};

export function bulk(verb: Verb, which: Which): Act {
  const { name, of, does, fields, done, danger } = words[verb];
  const path = `jobs/${verb}`;
  const subject =
    "ids" in which ? `Each of ${plural(which.ids.length, "chosen job")}` : `Every job of ${writeQuery(which.filter)}`;
  const body = (values: Readonly<Record<string, string>>): object => {
    const { attempts, perSecond, ...rest } = values;
    const numbers = { attempts: numberOf(attempts), perSecond: numberOf(perSecond) };
    return {
      ...("ids" in which ? { ids: which.ids } : { filter: asked(which.filter), limit: stepJobs }),
      ...filled(rest),
      ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined)),
    };
  };
  return {
    title: "ids" in which ? `${name} ${plural(which.ids.length, "chosen job")}` : `${name} all of these`,
    explain: `${subject} ${of} ${does}`,
    fields: [...fields, because],
    count: (values, pace) => (verb === "rewind" && !values["to"] ? undefined : countInSteps(path, body(values), pace)),
    button: `${name} them`,
    danger: danger ?? false,
    isStepwise: true,
    run: (values, pace) => inSteps(path, body(values), pace),
    done: (answer) => {
      const { count, isWhole } = answer as Stepped;
      return `${isWhole ? "" : "Stopped: "}${plural(count, "job")} ${done}`;
    },
  };
}
