import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { changes, get, segment, send } from "../../api.js";
import { Button } from "../../parts/button.js";
import { JsonField, readJson, writeJson } from "../../parts/json-field.js";
import { Load, Problem } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { TextField } from "../../parts/text-field.js";
import { toast } from "../../parts/toast.js";
import { go, to } from "../../router.js";
import type { Schedule } from "../../wire.js";
import { putBack } from "./acts.js";
import { ruleHint, ruleOf, ruleParts } from "./rule.js";
import { Slots } from "./slots.js";

/** Make a schedule, or change one; its next runs are shown while one writes. */
export function EditSchedule({ name }: { name?: string }): JSX.Element {
  const schedule = useResource(`edit schedule ${name}`, async (signal) =>
    name === undefined ? null : get<Schedule>(`schedules/${segment(name)}`, {}, signal),
  );
  return (
    <>
      <PageHead
        above={
          <>
            <a href={to(["schedules"])}>Schedules</a>
            {name !== undefined && (
              <>
                {" / "}
                <a href={to(["schedules", name])}>{name}</a>
              </>
            )}
          </>
        }
        title={name === undefined ? "New schedule" : `Edit ${name}`}
      >
        {schedule.data?.app && (
          <p class="note">
            The application {schedule.data.app} declares it in its code: when it starts again, that holds once more.
          </p>
        )}
      </PageHead>
      <Load of={schedule} lines={8}>
        {(found) => <Form of={found} />}
      </Load>
    </>
  );
}

interface Preview {
  readonly items: readonly string[];
  readonly description: string | null;
}

/** When a rule would run, asked for when somebody stops to type. */
function usePreview(rule: string, zone: string): { readonly preview?: Preview; readonly error?: unknown } {
  const [answer, setAnswer] = useState<{ readonly preview?: Preview; readonly error?: unknown }>({});
  useEffect(() => {
    if (rule.trim() === "") return setAnswer({});
    let current = true;
    const timer = setTimeout(async () => {
      const next = await Promise.resolve()
        .then(() => send<Preview>("POST", "schedules/preview", { rule: ruleOf(rule.trim(), zone.trim()), count: 10 }))
        .then((preview) => ({ preview }))
        .catch((error: unknown) => ({ error }));
      if (current) setAnswer(next);
    }, 300);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [rule, zone]);
  return answer;
}

function Form({ of }: { of: Schedule | null }): JSX.Element {
  const [name, setName] = useState(of?.name ?? "");
  const [rule, setRule] = useState(() => (of ? ruleParts(of.rule).text : "0 3 * * MON-FRI"));
  const [zone, setZone] = useState(() =>
    of ? ruleParts(of.rule).zone : Intl.DateTimeFormat().resolvedOptions().timeZone,
  );
  const [type, setType] = useState(of?.job.type ?? "");
  const [queue, setQueue] = useState(of?.job.queue ?? "");
  const { type: _type, queue: _queue, ...rest } = (of?.job ?? {}) as Record<string, unknown>;
  const [more, setMore] = useState(Object.keys(rest).length === 0 ? "" : writeJson(rest));
  const [input, setInput] = useState(writeJson(of?.input));
  const [options, setOptions] = useState(
    of && Object.keys(of.options as object).length > 0 ? writeJson(of.options) : "",
  );
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const preview = usePreview(rule, zone);
  const texts = [more, input, options].map(readJson);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await send("PUT", `schedules/${segment(name)}`, {
        rule: ruleOf(rule.trim(), zone.trim()),
        job: { ...(texts[0]!.value as object | undefined), type, ...(queue && { queue }) },
        ...("value" in texts[1]! && { input: texts[1].value }),
        ...(texts[2]!.value !== undefined && { options: texts[2]!.value }),
        ...(of?.version !== null && of?.version !== undefined && { version: of.version }),
        ...(of?.app !== null && of?.app !== undefined && { app: of.app }),
      });
      toast(of ? `${name} is changed` : `${name} is made`, {
        undo: async () => {
          await (of ? putBack(of) : send("DELETE", `schedules/${segment(name)}`));
          toast("Taken back");
          changes.value += 1;
        },
      });
      changes.value += 1;
      go(to(["schedules", name]));
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <form class="stack" onSubmit={(event) => void submit(event)}>
      <div class="grid-2">
        <Panel title="When">
          {!of && <TextField label="Name" required value={name} onChange={setName} />}
          <TextField label="Rule" hint={ruleHint} required isMono value={rule} onChange={setRule} />
          <TextField label="Time zone" value={zone} onChange={setZone} />
          <div class="next-runs" aria-live="polite">
            {preview.error !== undefined && <Problem error={preview.error} />}
            {preview.preview?.description && <p>{preview.preview.description}</p>}
            {preview.preview &&
              (preview.preview.items.length === 0 ? (
                <p class="muted">It would never run.</p>
              ) : (
                <Slots times={preview.preview.items} />
              ))}
          </div>
        </Panel>
        <Panel title="What">
          <TextField label="Type" names="type" required value={type} onChange={setType} />
          <TextField label="Queue" names="queue" hint="empty: default" value={queue} onChange={setQueue} />
          <JsonField label="Input" hint="JSON; empty: none" rows={6} value={input} onChange={setInput} />
          <JsonField
            label="Options of its jobs"
            hint='as an enqueue has them: {"priority": 0, "maxAttempts": 3}'
            rows={3}
            value={more}
            onChange={setMore}
          />
          <JsonField
            label="Policies"
            hint='{"overlap": "skip", "missed": "latest"}: see docs/schedules.md'
            rows={3}
            value={options}
            onChange={setOptions}
          />
        </Panel>
      </div>
      {error !== undefined && <Problem error={error} />}
      <div class="form-end">
        <a class="button" href={to(of ? ["schedules", of.name] : ["schedules"])}>
          Keep as it is
        </a>
        <Button type="submit" kind="main" disabled={busy || texts.some(({ wrong }) => wrong !== undefined)}>
          {busy ? "Saving…" : of ? "Save" : "Make the schedule"}
        </Button>
      </div>
    </form>
  );
}
