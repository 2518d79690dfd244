import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { duration, plural } from "../../format.js";
import { Badge, toneOf } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Panel } from "../../parts/panel.js";
import { Ago, Moment } from "../../parts/time.js";
import type { Attempt, Decision, JobDetails } from "../../wire.js";
import { ErrorText } from "./error-text.js";
import { isTold, logLines } from "./told.js";

/** So many at first: a job may have thousands behind it. */
const atFirst = 20;

/** What happened to a job, the newest first. */
export function Timeline({ of: { job, attempts, decisions } }: { of: JobDetails }): JSX.Element {
  const [most, setMost] = useState(atFirst);
  const entries = [
    ...attempts.map((attempt) => ({
      at: attempt.finishedAt,
      key: `attempt ${attempt.attempt} ${attempt.startedAt}`,
      tone: toneOf(attempt.outcome),
      node: <AttemptEntry of={attempt} />,
    })),
    ...decisions.map((decision) => ({
      at: decision.decidedAt,
      key: `decision ${decision.decidedAt}`,
      tone: undefined,
      node: <DecisionEntry of={decision} />,
    })),
  ].toSorted((a, b) => b.at.localeCompare(a.at));
  return (
    <Panel title="Attempts" note={plural(attempts.length, "ended", "ended")}>
      <ol class="timeline">
        {job.state === "running" && (
          <li class={toneOf("running")}>
            <div class="timeline-head">
              <Badge state="running" /> attempt {job.attempts}{" "}
              {job.worker && <span class="muted">on {job.worker}</span>} <Ago at={job.lastAttemptAt} />
            </div>
          </li>
        )}
        {job.state === "suspended" && (
          <li class={toneOf("suspended")}>
            <div class="timeline-head">
              <Badge state="suspended" /> attempt {job.attempts}{" "}
              <span>
                waits, since <Moment at={job.suspendedAt} />
              </span>
            </div>
          </li>
        )}
        {(job.state === "delayed" || job.state === "ready" || job.state === "blocked") && (
          <li>
            <div class="timeline-head">
              <Badge state={job.state} />{" "}
              {job.stage ? (
                `waits in stage ${job.stage}`
              ) : (
                <>
                  next attempt <Ago at={job.runAt} />
                </>
              )}
            </div>
          </li>
        )}
        {entries.slice(0, most).map(({ key, tone, node }) => (
          <li key={key} class={tone}>
            {node}
          </li>
        ))}
        {entries.length <= most && (
          <li>
            <div class="timeline-head">
              <span class="muted">enqueued</span> <Moment at={job.createdAt} />
            </div>
          </li>
        )}
      </ol>
      {entries.length > most && (
        <Button small onClick={() => setMost(most + 100)}>
          Show {Math.min(100, entries.length - most)} more of {entries.length}
        </Button>
      )}
    </Panel>
  );
}

function AttemptEntry({ of }: { of: Attempt }): JSX.Element {
  const log = logLines(of.log);
  const seconds = (Date.parse(of.finishedAt) - Date.parse(of.startedAt)) / 1000;
  return (
    <>
      <div class="timeline-head">
        <Badge state={of.outcome} title={of.reason} />
        <strong>attempt {of.attempt}</strong>
        <span>
          <Moment at={of.startedAt} /> <span class="muted">for {duration(seconds)}</span>
        </span>
        {of.worker && <span class="muted">{of.worker}</span>}
      </div>
      {isTold(of.error) && <ErrorText error={of.error} />}
      {log.length > 0 && (
        <details>
          <summary>{plural(log.length, "line")} of log</summary>
          <pre class="block" tabIndex={0}>
            {log.join("\n")}
          </pre>
        </details>
      )}
    </>
  );
}

const decided = { retry: "retried", discard: "discarded", cancel: "cancelled" } as const;

function DecisionEntry({ of }: { of: Decision }): JSX.Element {
  return (
    <div class="timeline-head">
      <strong>{decided[of.action]}</strong>
      <Moment at={of.decidedAt} />
      {of.by && <span class="muted">by {of.by}</span>}
      {of.because && <span>{of.because}</span>}
    </div>
  );
}
