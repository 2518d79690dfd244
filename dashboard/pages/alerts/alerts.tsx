import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { cellColumn } from "../../cells.js";
import { get } from "../../api.js";
import { bytes, count, duration, percent } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Copy } from "../../parts/copy.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { Ago, Moment } from "../../parts/time.js";
import { to } from "../../router.js";
import { mayAct } from "../../session.js";
import type { Alert, AlertRule, EventOfAlert, Hook, List } from "../../wire.js";
import * as acts from "./acts.js";

const told: Readonly<Record<string, (value: number) => string>> = {
  seconds: (value) => `longer than ${duration(value)}`,
  share: (value) => `more than ${percent(value)}`,
  minRuns: (value) => `of at least ${count(value)} attempts`,
  windowSeconds: (value) => `within ${duration(value)}`,
  growth: (value) => `${count(value)} jobs more`,
  minWorkers: (value) => `fewer than ${count(value)}`,
  bytes: (value) => `more than ${bytes(value)}`,
};

/** The options of a rule, in words: of what, and how much. */
const conditionOf = (options: AlertRule["options"]): string =>
  Object.entries(options)
    .map(([key, value]) => (typeof value === "number" && told[key] ? told[key](value) : `${key} ${value}`))
    .join(", ");

/** Silence one subject of a rule, or end that; a silence of the whole rule is ended there. */
function SilenceSubject({ of, rules }: { of: Alert; rules: readonly AlertRule[] }): JSX.Element | null {
  const rule = rules.find(({ name, cell }) => name === of.rule && cell === of.cell);
  if (!rule || (of.silenced && rule.silencedUntil !== null)) return null;
  const isSilenced = rule.silences.some(({ subject }) => subject === of.subject);
  return (
    <Button
      small
      label={`${isSilenced ? "End silence of" : "Silence"} ${of.subject}`}
      onClick={() => perform((isSilenced ? acts.unsilence : acts.silence)(rule, of.subject))}
    >
      {isSilenced ? "End silence" : "Silence"}
    </Button>
  );
}

/** What fires, the rules, where it is sent to, and what happened. */
export function Alerts(): JSX.Element {
  const alerts = useResource("alerts", (signal) => get<List<Alert>>("alerts", {}, signal), 5000);
  const rules = useResource("alert rules", (signal) => get<List<AlertRule>>("alerts/rules", {}, signal), 10_000);
  const hooks = useResource("hooks", (signal) => get<List<Hook>>("alerts/hooks", {}, signal), 10_000);
  const events = useResource(
    "alert events",
    (signal) => get<List<EventOfAlert>>("alerts/events", { limit: 50 }, signal),
    10_000,
  );
  const [made, setMade] = useState<{ name: string; secret: string } | null>(null);
  const names = (hooks.data?.items ?? []).map(({ name }) => name);
  const firing = (alerts.data?.items ?? []).filter(({ state }) => state === "firing").length;
  return (
    <>
      <PageHead
        title="Alerts"
        actions={
          mayAct.value && (
            <>
              <Button onClick={() => perform(acts.putRule(names))}>Make a rule</Button>
              <Button onClick={() => perform(acts.putHook((name, secret) => setMade({ name, secret })))}>
                Set a web hook
              </Button>
            </>
          )
        }
      >
        Rules are looked at every 15 seconds, by whoever does the upkeep.
      </PageHead>
      {made && (
        <Panel
          title={`The secret of ${made.name}`}
          note="it is not shown again"
          actions={
            <Button small onClick={() => setMade(null)}>
              I have it
            </Button>
          }
        >
          <p>
            <code class="mono">{made.secret}</code> <Copy text={made.secret} label="Copy the secret" />
          </p>
        </Panel>
      )}
      <Panel title="Now" note={alerts.data && (firing === 0 ? "nothing fires" : `${firing} firing`)} flush>
        <Load of={alerts} lines={2}>
          {({ items }) => (
            <Table
              caption="Alerts"
              rows={items}
              rowKey={({ rule, subject, cell }) => `${rule} ${subject} ${cell}`}
              columns={[
                { head: "Alert", cell: ({ message }) => <span>{message}</span> },
                cellColumn<Alert>(({ cell }) => cell),
                {
                  head: "State",
                  width: "150px",
                  by: ({ state }) => state,
                  cell: ({ state, silenced }) => (
                    <span class="tags">
                      <Badge state={state} />
                      {silenced && <Badge state="silenced" />}
                    </span>
                  ),
                },
                { head: "Rule", rank: 2, by: ({ rule }) => rule, cell: ({ rule }) => rule },
                {
                  head: "Since",
                  end: true,
                  width: "110px",
                  by: ({ since }) => since,
                  cell: ({ since }) => <Ago at={since} />,
                },
                mayAct.value && {
                  head: "Acts",
                  end: true,
                  width: "130px",
                  cell: (alert) => <SilenceSubject of={alert} rules={rules.data?.items ?? []} />,
                },
              ]}
              empty={<Empty title="Nothing fires" />}
            />
          )}
        </Load>
      </Panel>
      <Panel title="Rules" flush>
        <Load of={rules}>
          {({ items }) => (
            <Table
              caption="Rules"
              rows={items}
              rowKey={({ name, cell }) => `${name} ${cell}`}
              columns={[
                {
                  head: "Rule",
                  by: ({ name }) => name,
                  cell: ({ name, options }) => (
                    <span class="two-lines">
                      <span>{name}</span>
                      <small>{conditionOf(options)}</small>
                    </span>
                  ),
                },
                cellColumn<AlertRule>(({ cell }) => cell),
                { head: "Kind", width: "100px", rank: 2, by: ({ kind }) => kind, cell: ({ kind }) => kind },
                {
                  head: "State",
                  width: "160px",
                  cell: ({ on, silencedUntil, silencedBy, silencedBecause, silences }) => (
                    <span class="two-lines">
                      <span class="tags">
                        <Badge state={!on ? "off" : silencedUntil ? "silenced" : "on"} />
                      </span>
                      {silencedUntil && (
                        <small>
                          ends <Ago at={silencedUntil} />
                          {silencedBy && `, by ${silencedBy}`}
                          {silencedBecause && `: ${silencedBecause}`}
                        </small>
                      )}
                      {silences.map(({ subject, until, by, because }) => (
                        <small key={subject}>
                          <bdi>{subject}</bdi> is silenced, ends <Ago at={until} />
                          {by && `, by ${by}`}
                          {because && `: ${because}`}
                        </small>
                      ))}
                    </span>
                  ),
                },
                {
                  head: "For",
                  end: true,
                  width: "70px",
                  rank: 3,
                  by: ({ forSeconds }) => forSeconds,
                  cell: ({ forSeconds }) => duration(forSeconds),
                },
                { head: "Tells", rank: 3, cell: ({ hooks: some }) => some.join(", ") },
                mayAct.value && {
                  head: "Acts",
                  end: true,
                  width: "260px",
                  cell: (rule) => (
                    <span class="actions">
                      <Button small label={`Change ${rule.name}`} onClick={() => perform(acts.putRule(names, rule))}>
                        Change
                      </Button>
                      <Button
                        small
                        label={`Turn ${rule.name} ${rule.on ? "off" : "on"}`}
                        onClick={() => perform(acts.turn(rule))}
                      >
                        {rule.on ? "Off" : "On"}
                      </Button>
                      <Button
                        small
                        label={`${rule.silencedUntil ? "End silence of" : "Silence"} ${rule.name}`}
                        onClick={() => perform(rule.silencedUntil ? acts.unsilence(rule) : acts.silence(rule))}
                      >
                        {rule.silencedUntil ? "End silence" : "Silence"}
                      </Button>
                      <Button small label={`Remove ${rule.name}`} onClick={() => perform(acts.removeRule(rule))}>
                        Remove
                      </Button>
                    </span>
                  ),
                },
              ]}
              empty={<Empty title="There is no rule" />}
            />
          )}
        </Load>
      </Panel>
      <Panel title="Web hooks" note="signed, retried, sent by jobs of ours" flush>
        <Load of={hooks} lines={2}>
          {({ items }) => (
            <>
              {items.length > 0 && items.every(({ senders }) => senders === 0) && (
                <p class="note" role="status">
                  No worker that is known sends them: run <code>millrace serve</code>, give <code>createHandler</code>{" "}
                  the option <code>webHooks</code>, or start <code>mill.alerts.worker()</code>. What is not sent within
                  a day is given up.
                </p>
              )}
              <Table
                caption="Web hooks"
                rows={items}
                rowKey={({ name }) => name}
                columns={[
                  { head: "Hook", by: ({ name }) => name, cell: ({ name }) => name },
                  { head: "Leads to", cell: ({ origin }) => <span class="mono">{origin}/…</span> },
                  { head: "Rules", rank: 2, cell: ({ rules: some }) => some.join(", ") },
                  {
                    head: "Set",
                    end: true,
                    width: "110px",
                    rank: 3,
                    cell: ({ putAt }) => <Ago at={putAt} />,
                  },
                  mayAct.value && {
                    head: "Acts",
                    end: true,
                    width: "150px",
                    cell: (hook) => (
                      <span class="actions">
                        <Button small label={`Test ${hook.name}`} onClick={() => perform(acts.testHook(hook))}>
                          Test
                        </Button>
                        <Button small label={`Remove ${hook.name}`} onClick={() => perform(acts.removeHook(hook))}>
                          Remove
                        </Button>
                      </span>
                    ),
                  },
                ]}
                empty={
                  <Empty title="Alerts are sent nowhere">
                    They show here, on the overview, and as a metric all the same.
                  </Empty>
                }
              />
            </>
          )}
        </Load>
      </Panel>
      <Panel
        title="What happened"
        actions={<a href={to(["jobs"], { queue: "millrace.alerts" })}>What was sent</a>}
        flush
      >
        <Load of={events}>
          {({ items }) => (
            <Table
              caption="What happened"
              rows={items}
              rowKey={({ id }) => id}
              columns={[
                { head: "Event", width: "110px", cell: ({ event }) => <Badge state={event} /> },
                {
                  head: "Of",
                  width: "220px",
                  by: ({ rule }) => rule,
                  cell: ({ rule, subject }) => [rule, subject].filter(Boolean).join(" · "),
                },
                {
                  head: "What",
                  rank: 2,
                  cell: ({ message, by }) => <span>{[message, by && `by ${by}`].filter(Boolean).join(", ")}</span>,
                },
                { head: "At", end: true, width: "170px", rank: 2, cell: ({ at }) => <Moment at={at} /> },
              ]}
              empty={<Empty title="Nothing has happened yet" />}
            />
          )}
        </Load>
      </Panel>
    </>
  );
}
