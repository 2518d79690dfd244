import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { parseExact } from "../../../src/db/exact-json.js";
import { changes, get, request } from "../../api.js";
import { now } from "../../clock.js";
import { moment } from "../../format.js";
import { numberOf } from "../../parts/act.js";
import { Button } from "../../parts/button.js";
import { JsonField, readJson, writeJson } from "../../parts/json-field.js";
import { Load, Problem } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { TextField } from "../../parts/text-field.js";
import { toast } from "../../parts/toast.js";
import { go, route, to } from "../../router.js";
import type { Job, JobDetails } from "../../wire.js";
import { momentFilledIn, zoneWords } from "../../zone.js";

/** Enqueue a job; `?from=` fills the form with what another one has. */
export function EnqueuePage(): JSX.Element {
  const from = route.value.query.get("from");
  const job = useResource(`clone ${from}`, async (signal) =>
    from === null ? null : (await get<JobDetails>(`jobs/${encodeURIComponent(from)}`, {}, signal)).job,
  );
  return (
    <>
      <PageHead
        above={<a href={to(["jobs"])}>Jobs</a>}
        title={from === null ? "New job" : "Clone a job"}
        beside={
          from !== null && (
            <a class="mono" href={to(["jobs", from])}>
              {from}
            </a>
          )
        }
      >
        {from === null
          ? "It is handed out when its time has come, as any other."
          : "A new job with what this one was given. It is another job: the first stays as it is."}
      </PageHead>
      <Load of={job} lines={8}>
        {(found) => <Form of={found} />}
      </Load>
    </>
  );
}

type Values = Readonly<
  Record<
    "type" | "queue" | "input" | "priority" | "runAt" | "group" | "tenant" | "maxAttempts" | "fingerprint" | "more",
    string
  >
>;

/** For how long it might wait for its first attempt; undefined where nothing or its deadline says so. */
function ttlOf({ expiresAt, deadline, createdAt, runAt }: Job): number | undefined {
  if (expiresAt === null || expiresAt === deadline) return undefined;
  const [end, made, due] = [expiresAt, createdAt, runAt].map((at) => Date.parse(at)) as [number, number, number];
  // What is tried again later is due after that time.
  const seconds = (end - (due < end ? Math.max(made, due) : made)) / 1000;
  // Its id tells when it was made some milliseconds off.
  return seconds < 10 ? Math.max(0.1, Math.round(seconds * 10) / 10) : Math.round(seconds);
}

const hasPassed = (at: string): boolean => Date.parse(at) <= now.peek();

/**
 * What is given to an enqueue, as far as a job tells it. Its fingerprint is left out: it would be a duplicate. So is a
 * deadline that has passed: it would be refused.
 */
function valuesOf(job: Job | null): Values {
  const ttlSeconds = job ? ttlOf(job) : undefined;
  const more = {
    ...(ttlSeconds !== undefined && { ttlSeconds }),
    ...(job?.deadline && !hasPassed(job.deadline) && { deadline: job.deadline }),
    ...(job?.resources && Object.keys(job.resources).length > 0 && { resources: job.resources }),
    ...(job?.stage && { stage: job.stage }),
    ...(job?.attemptTimeoutSeconds && { attemptTimeoutSeconds: job.attemptTimeoutSeconds }),
    ...(job?.retry !== null && job?.retry !== undefined && { retry: job.retry }),
    ...(job && job.cost !== 1 && { cost: job.cost }),
    ...(job?.headers !== null && job?.headers !== undefined && { headers: job.headers }),
  };
  return {
    type: job?.type ?? "",
    queue: job?.queue ?? "",
    input: writeJson(job?.input),
    priority: job ? String(job.priority) : "",
    runAt: "",
    group: job?.group ?? "",
    tenant: job?.tenant ?? "",
    maxAttempts: job ? String(job.maxAttempts) : "",
    fingerprint: "",
    more: Object.keys(more).length === 0 ? "" : writeJson(more),
  };
}

function Form({ of }: { of: Job | null }): JSX.Element {
  const [values, setValues] = useState<Values>(() => valuesOf(of));
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [key, setKey] = useState(newKey);
  const form = useRef<HTMLFormElement>(null);
  const set = (name: keyof Values) => (value: string) => {
    setValues((before) => ({ ...before, [name]: value }));
    setKey(newKey()); // another job
  };
  const input = readJson(values.input);
  const more = readJson(values.more);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    const { type, queue, group, tenant, fingerprint, runAt } = values;
    const priority = numberOf(values.priority);
    const attempts = values.maxAttempts.trim();
    const body = {
      type,
      ...(queue && { queue }),
      ...(group && { group }),
      ...(tenant && { tenant }),
      ...(fingerprint && { fingerprint }),
      ...(priority !== undefined && { priority }),
      // What is neither goes as it is: the server says what is wrong with it.
      ...(attempts && { maxAttempts: Number.isNaN(Number(attempts)) ? attempts : Number(attempts) }),
      ...(runAt && { runAt: momentFilledIn(runAt) }),
      ...("value" in input && { input: input.value }),
      ...(more.value as object | undefined),
    };
    try {
      // Asked twice, it is enqueued once.
      const response = await request("POST", "jobs", { body, headers: { "idempotency-key": key } });
      const { id, duplicate } = parseExact(await response.text()) as { id: string; duplicate?: boolean };
      toast(duplicate ? `${type} ${id} has this fingerprint already` : `${type} ${id} is enqueued`);
      changes.value += 1;
      go(to(["jobs", id]));
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <form ref={form} class="stack" onSubmit={(event) => void submit(event)}>
      <div class="grid-2">
        <Panel title="What">
          <TextField label="Type" names="type" required value={values.type} onChange={set("type")} />
          <TextField
            label="Queue"
            names="queue"
            hint="empty: that of its definition, or default"
            value={values.queue}
            onChange={set("queue")}
          />
          <JsonField label="Input" hint="JSON; empty: none" rows={12} value={values.input} onChange={set("input")} />
          {of?.payloadSize ? (
            <p class="note">
              The {of.payloadSize.toLocaleString("en")} bytes beside its input are not copied; a replay copies them.
            </p>
          ) : null}
          {of?.deadline && hasPassed(of.deadline) && (
            <p class="note">Its deadline, {moment(of.deadline)}, has passed and is not copied.</p>
          )}
        </Panel>
        <Panel title="How" note="empty: as its queue and its type say">
          <div class="grid-fields">
            <TextField
              label="Priority"
              kind="number"
              hint="0 goes first"
              value={values.priority}
              onChange={set("priority")}
            />
            <TextField
              label="Not before"
              kind="datetime-local"
              hint={`${zoneWords()}; empty: at once`}
              value={values.runAt}
              onChange={set("runAt")}
            />
            <TextField label="Group" names="group" value={values.group} onChange={set("group")} />
            <TextField label="Tenant" names="tenant" value={values.tenant} onChange={set("tenant")} />
            <TextField
              label="Attempts"
              hint='a number, or "unlimited"'
              value={values.maxAttempts}
              onChange={set("maxAttempts")}
            />
            <TextField
              label="Fingerprint"
              hint="of live jobs of a queue with the same one exists"
              value={values.fingerprint}
              onChange={set("fingerprint")}
            />
          </div>
          <JsonField
            label="Other options"
            hint='as POST /jobs has them: {"ttlSeconds": 600}'
            rows={5}
            value={values.more}
            onChange={set("more")}
          />
        </Panel>
      </div>
      {error !== undefined && <Problem error={error} />}
      <div class="form-end">
        <Button
          type="submit"
          kind="main"
          disabled={busy || input.wrong !== undefined || more.wrong !== undefined || !isObject(more.value)}
        >
          {busy ? "Enqueuing…" : "Enqueue"}
        </Button>
      </div>
    </form>
  );
}

const isObject = (value: unknown): boolean =>
  value === undefined || (typeof value === "object" && value !== null && !Array.isArray(value));

const newKey = (): string =>
  `dashboard-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-")}`;
