/** Everything that changes something goes this way: ask, count, do, tell, offer to take it back. */
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { changes } from "../api.js";
import { exact, plural } from "../format.js";
import type { Touch } from "../wire.js";
import { Button } from "./button.js";
import { Labelled } from "./labelled.js";
import { Problem } from "./load.js";
import { toast } from "./toast.js";

export type Values = Readonly<Record<string, string>>;

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind?: "text" | "number" | "datetime-local" | "checkbox";
  readonly value?: string;
  readonly required?: boolean;
  readonly min?: number;
  /** Names to choose from; others are allowed. */
  readonly options?: readonly string[];
  /** What may be chosen, and nothing else. */
  readonly choices?: readonly (readonly [value: string, words: string])[];
  /** Asked for only then. What is not asked for is empty. */
  readonly when?: (values: Values) => boolean;
}

/** How far an act in steps has come, and whether somebody wants it to stop. */
export interface Pace {
  readonly isStopped: boolean;
  readonly tell: (done: number) => void;
}

export interface Act {
  readonly title: string;
  /** What will happen, in a sentence or two. */
  readonly explain: ComponentChildren;
  readonly fields?: readonly Field[];
  /**
   * What it would touch now; asked again when a field changes. Undefined while too little is filled in. What takes
   * long tells how many it has found until then.
   */
  readonly count?: (values: Values, pace: Pace) => Promise<Touch> | undefined;
  /** What is counted. */
  readonly unit?: readonly [one: string, many: string];
  readonly button: string;
  readonly danger?: boolean;
  /** To be typed before it can be done: what cannot be taken back is not done by a slip. */
  readonly confirm?: string;
  /** It is done in steps, tells how far it has come, and can be stopped between them. */
  readonly isStepwise?: boolean;
  readonly run: (values: Values, pace: Pace) => Promise<unknown>;
  /** What was done, for the corner of the page. */
  readonly done: (answer: unknown, values: Values) => string;
  /** How to take it back, where that restores what was. */
  readonly undo?: (values: Values, answer: unknown) => Promise<unknown>;
  /**
   * What can be done instead where something of it is lost for good; nothing where these values leave nothing to do. It
   * is offered by what it does, not as “Undo”.
   */
  readonly instead?: (values: Values, answer: unknown) => Instead | undefined;
  /** What follows: to leave a page whose subject has gone. */
  readonly after?: () => void;
}

/** What comes close to taking something back. */
export interface Instead {
  /** On the button: “Pause again”. */
  readonly button: string;
  readonly run: () => Promise<unknown>;
  /** What was done, and what is not as it was. */
  readonly done: string;
}

export const because: Field = { name: "because", label: "Why", hint: "kept with what is changed" };

const asked = signal<Act | null>(null);

/** Ask, and do it when that is confirmed. */
export const perform = (act: Act): void => {
  asked.value = act;
};

export function ActDialog(): JSX.Element | null {
  const act = asked.value;
  return act && <Asking key={act.title} act={act} close={() => (asked.value = null)} />;
}

function Asking({ act, close }: { act: Act; close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries((act.fields ?? []).map(({ name, value = "" }) => [name, value])),
  );
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [typed, setTyped] = useState("");
  const [done, setDone] = useState(0);
  const stopped = useRef(false);
  const [isStopping, setIsStopping] = useState(false);
  const fields = (act.fields ?? []).filter(({ when }) => when?.(values) ?? true);
  const given = Object.fromEntries(fields.map(({ name }) => [name, values[name]!]));
  const touch = useCount(act, given, busy);

  useEffect(() => dialog.current!.showModal(), []);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(undefined);
    stopped.current = false;
    try {
      const pace: Pace = {
        get isStopped() {
          return stopped.current;
        },
        tell: setDone,
      };
      const answer = await act.run(given, pace);
      close();
      toast(act.done(answer, given), offerOf(act, given, answer));
      changes.value += 1;
      act.after?.();
    } catch (problem) {
      setError(problem);
      setBusy(false);
      setIsStopping(false);
      if (act.isStepwise) changes.value += 1; // what was done before stays done
    }
  };
  // None found yet is not nothing: it is still counted.
  const nothing = typeof touch === "object" && touch.count === 0 && (touch.isExact || touch.isCounting);
  const isUncounted = act.count !== undefined && (touch === "counting" || touch === "incomplete");
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="act-title"
      onClose={close}
      onCancel={(event) => busy && event.preventDefault()}
    >
      <form onSubmit={(event) => void submit(event)}>
        <h2 id="act-title">{act.title}</h2>
        <p>{act.explain}</p>
        {fields.map((field, index) => (
          <Input
            key={field.name}
            field={field}
            value={values[field.name]!}
            autoFocus={index === 0}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        {act.count && !busy && <Touched touch={touch} unit={act.unit ?? ["job", "jobs"]} />}
        {act.isStepwise && busy && <Done done={done} touch={touch} unit={act.unit ?? ["job", "jobs"]} />}
        {act.confirm !== undefined && (
          <Labelled label={`Type “${act.confirm}” to confirm`}>
            {(ids) => (
              <input
                {...ids}
                type="text"
                autocomplete="off"
                spellcheck={false}
                value={typed}
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            )}
          </Labelled>
        )}
        {error !== undefined && <Problem error={error} />}
        <footer>
          {busy && act.isStepwise ? (
            <Button
              disabled={isStopping}
              onClick={() => {
                stopped.current = true;
                setIsStopping(true);
              }}
            >
              {isStopping ? "Stopping…" : "Stop"}
            </Button>
          ) : (
            <Button disabled={busy} onClick={() => dialog.current!.close()}>
              Keep as it is
            </Button>
          )}
          <Button
            type="submit"
            kind={act.danger ? "danger" : "main"}
            disabled={busy || nothing || isUncounted || (act.confirm !== undefined && typed.trim() !== act.confirm)}
          >
            {busy ? "Working…" : act.button}
          </Button>
        </footer>
      </form>
    </dialog>
  );
}

/** What was counted, and whether it is counted on. */
interface Counted extends Touch {
  readonly isCounting?: boolean;
}

/** What an act would touch, or why that is not known. It is counted until the act begins. */
function useCount(act: Act, values: Values, isDone: boolean): Counted | keyof typeof notCounted {
  const { because: _why, ...counted } = values; // it touches the same, whatever the reason
  const [touch, setTouch] = useState<Counted | keyof typeof notCounted>("counting");
  const stop = useRef(() => {});
  useEffect(() => {
    if (!act.count) return;
    let isStopped = false;
    stop.current = () => (isStopped = true);
    setTouch("counting");
    const pace: Pace = {
      get isStopped() {
        return isStopped;
      },
      tell: (count) => !isStopped && setTouch({ count, isExact: false, isCounting: true }),
    };
    const timer = setTimeout(async () => {
      const asked = act.count!(values, pace);
      const answer = asked === undefined ? "incomplete" : await asked.catch(() => "unknown" as const);
      if (!isStopped) setTouch(answer);
    }, 150);
    return () => {
      stop.current();
      clearTimeout(timer);
    };
  }, [act, JSON.stringify(counted)]);
  useEffect(() => {
    if (!isDone) return;
    stop.current();
    setTouch((last) => (typeof last === "object" ? { count: last.count, isExact: last.isExact } : last));
  }, [isDone]);
  return touch;
}

const notCounted = {
  counting: "Counting…",
  unknown: "It could not be counted what this touches.",
  incomplete: "What it touches is counted when all that is needed is filled in.",
} as const;

function Touched({
  touch,
  unit: [one, many],
}: {
  touch: Counted | keyof typeof notCounted;
  unit: readonly [string, string];
}): JSX.Element {
  if (typeof touch === "string")
    return (
      <p class="touch muted" role="status">
        {notCounted[touch]}
      </p>
    );
  if (touch.isCounting)
    return (
      <div class="touch" role="status">
        <progress />
        <span>
          {touch.count === 0 ? `Counting… no ${one} found yet` : `Counting… ${plural(touch.count, one, many)} so far`}
        </span>
      </div>
    );
  return (
    <p class="touch" role="status">
      {touch.count === 0 && touch.isExact ? (
        <>There is nothing to do: it touches no {one}.</>
      ) : touch.count === 0 ? (
        <>No {one} was found within the time of a look; there may be some.</>
      ) : (
        <>
          Touches{" "}
          <strong>{touch.isExact ? plural(touch.count, one, many) : `${exact(touch.count)} ${many} or more`}</strong>
        </>
      )}
    </p>
  );
}

/** How far it has come. Of how many is known as far as they were counted. */
function Done({
  done,
  touch,
  unit: [one, many],
}: {
  done: number;
  touch: Touch | string;
  unit: readonly [string, string];
}): JSX.Element {
  const all = typeof touch === "object" ? touch : undefined;
  return (
    <div class="touch" role="status">
      <progress {...(all?.isExact ? { max: Math.max(all.count, 1), value: Math.min(done, all.count) } : {})} />
      <span>
        {plural(done, one, many)}
        {all && ` of ${all.isExact ? "" : "at least "}${exact(Math.max(all.count, done))}`}
      </span>
    </div>
  );
}

function Input({
  field,
  value,
  onChange,
  autoFocus,
}: {
  field: Field;
  value: string;
  onChange: (value: string) => void;
  autoFocus: boolean;
}): JSX.Element {
  const { name, label, hint, kind = "text", required, min, options, choices } = field;
  const place = useRef<HTMLInputElement & HTMLSelectElement>(null);
  useEffect(() => {
    if (autoFocus) place.current!.focus();
  }, []);
  if (choices) {
    return (
      <Labelled label={label} hint={hint} needed={required}>
        {(ids) => (
          <select {...ids} ref={place} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
            {choices.map(([one, words]) => (
              <option key={one} value={one}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Labelled>
    );
  }
  if (kind === "checkbox") {
    return (
      <Labelled label={label} hint={hint} beside>
        {(ids) => (
          <input
            {...ids}
            ref={place}
            type="checkbox"
            checked={value === "yes"}
            onChange={(event) => onChange(event.currentTarget.checked ? "yes" : "")}
          />
        )}
      </Labelled>
    );
  }
  return (
    <Labelled label={label} hint={hint} needed={required}>
      {(ids) => (
        <>
          <input
            {...ids}
            ref={place}
            type={kind}
            value={value}
            required={required}
            min={min}
            step={kind === "number" ? "any" : undefined}
            list={options && `list-${name}`}
            autocomplete="off"
            onInput={(event) => onChange(event.currentTarget.value)}
          />
          {options && (
            <datalist id={`list-${name}`}>
              {options.map((option) => (
                <option key={option} value={option} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  );
}

function offerOf(
  act: Act,
  values: Values,
  answer: unknown,
): { undo: () => Promise<void>; button?: string } | undefined {
  const { undo } = act;
  if (undo) return { undo: () => takeBack(() => undo(values, answer)) };
  const instead = act.instead?.(values, answer);
  return instead && { undo: () => takeBack(instead.run, instead.done), button: instead.button };
}

async function takeBack(undo: () => Promise<unknown>, done = "Taken back"): Promise<void> {
  try {
    await undo();
    toast(done);
  } catch (error) {
    toast(`Could not be taken back: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" });
  }
  changes.value += 1;
}

/** What was filled in, without what was left empty. */
export const filled = (values: Values): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
/** A number that was filled in. */
export const numberOf = (value: string | undefined): number | undefined =>
  value === undefined || value === "" ? undefined : Number(value);
