import type { DecisionNote } from "./failure.js";

/** What a rule looks at. docs/alerts.md has what each kind does. */
export type AlertKind = "oldest" | "failures" | "breaker" | "schedule" | "unhandled" | "workers" | "backlog" | "size";

/** A rule: what somebody wants to be told of. */
export interface AlertRule {
  readonly kind: AlertKind;
  /** Only this queue. Default each queue. */
  readonly queue?: string;
  /** Only this type of the queue. Default the queue as a whole. */
  readonly type?: string;
  /** Only this schedule. Default each. */
  readonly schedule?: string;
  /** For how long the oldest has waited (`oldest`, 900), or something has that nobody takes (`unhandled`, 300). */
  readonly seconds?: number;
  /** Of all attempts, how many have failed (`failures`). Default 0.5. */
  readonly share?: number;
  /** So many attempts at least (`failures`). Default 20. */
  readonly minRuns?: number;
  /** How far back is looked (`failures`, 300; `backlog`, 1800). */
  readonly windowSeconds?: number;
  /** So many jobs more wait than at the beginning of that time (`backlog`). Default 10,000. */
  readonly growth?: number;
  /** So many workers at least take jobs of the queue (`workers`). Default 1. */
  readonly minWorkers?: number;
  /** So large are all tables together (`size`). */
  readonly bytes?: number;
  /** For how long it must hold before it fires, and must not before it is resolved. Default 60. */
  readonly forSeconds?: number;
  /** How often what goes on is told again; 0 for never. Default 86,400: a day. */
  readonly remindSeconds?: number;
  /** Names of web hooks that are told. Default none. */
  readonly hooks?: readonly string[];
  /** Default true. */
  readonly on?: boolean;
}

/** A rule as it is stored. */
export interface AlertRuleRecord extends Required<
  Pick<AlertRule, "kind" | "forSeconds" | "remindSeconds" | "hooks" | "on">
> {
  readonly name: string;
  /** What it looks at, by its kind. */
  readonly options: Readonly<Record<string, string | number>>;
  readonly putBy: string | null;
  readonly putAt: Date;
  /** Nothing is sent until then. */
  readonly silencedUntil: Date | null;
  readonly silencedBy: string | null;
  readonly silencedBecause: string | null;
  /** Subjects that nothing is sent of until then. */
  readonly silences: readonly SilenceRecord[];
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** A silence of one subject of a rule. */
export interface SilenceRecord {
  readonly subject: string;
  readonly until: Date;
  readonly by: string | null;
  readonly because: string | null;
}

/** Who silences what of a rule, and why. */
export interface SilenceNote extends DecisionNote {
  /** Only this subject: `mail`, `mail/send`. Default all of the rule. */
  readonly subject?: string;
}

/** Something that a rule is about, and for which its condition holds. */
export interface AlertRecord {
  readonly rule: string;
  readonly kind: AlertKind;
  /** A queue, a type of it (`mail/send`), a schedule, or `disk`. */
  readonly subject: string;
  /** `pending` until it has held for as long as the rule says. */
  readonly state: "pending" | "firing";
  readonly since: Date;
  readonly firedAt: Date | null;
  readonly value: number | null;
  readonly message: string;
  readonly silenced: boolean;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** Something that happened to an alert, a rule or a web hook. */
export interface AlertEvent {
  readonly id: string;
  readonly at: Date;
  readonly event:
    | "fired"
    | "resolved"
    | "put"
    | "removed"
    | "silenced"
    | "unsilenced"
    | "hook put"
    | "hook removed"
    | "hook tested";
  /** The rule, or the web hook. */
  readonly rule: string;
  readonly subject: string | null;
  readonly value: number | null;
  readonly message: string | null;
  readonly by: string | null;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** Where alerts are sent to. Its secret is never told, and of its address only where it leads. */
export interface HookRecord {
  readonly name: string;
  readonly origin: string;
  readonly putBy: string | null;
  readonly putAt: Date;
  /** The rules that tell it. */
  readonly rules: readonly string[];
  /** How many workers that are known send web hooks. With none, what is to be sent waits a day, and is given up. */
  readonly senders: number;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}
