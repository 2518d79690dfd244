import type { ComponentChildren, JSX } from "preact";
import { errorText } from "../../../src/db/error-text.js";
import { useState } from "preact/hooks";
import { get } from "../../api.js";
import { plural } from "../../format.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { isolated } from "../../parts/isolated.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import type { Alert, Breaker, Finding, List, Pause } from "../../wire.js";
import { useSchedules } from "../schedules/use-schedules.js";

/** So many at first; the rest is told by kind, and shown when somebody wants it. */
const most = 6;

interface Concern {
  readonly kind: Kind;
  readonly key: string;
  readonly state: string;
  readonly what: ComponentChildren;
  readonly remedy?: ComponentChildren;
}

type Kind = keyof typeof kinds;
const kinds = {
  alert: ["alert", "alerts"],
  finding: ["finding", "findings"],
  breaker: ["breaker", "breakers"],
  schedule: ["schedule", "schedules"],
  pause: ["pause", "pauses"],
} as const;

/** What somebody should look at: alerts, findings, breakers, schedules, pauses. Nothing when there is nothing. */
export function Attention(): JSX.Element | null {
  const concerns = [...useAlerts(), ...useFindings(), ...useBreakers(), ...useFailing(), ...usePauses()];
  const [isWhole, setIsWhole] = useState(false);
  if (concerns.length === 0) return null;
  const rest = concerns.slice(most);
  return (
    <Panel
      title="Worth a look"
      note={rest.length === 0 ? undefined : isWhole ? String(concerns.length) : `${most} of ${concerns.length}`}
      actions={<a href={to(["health"])}>Health</a>}
      flush
    >
      <ul class="warnings">
        {(isWhole ? concerns : concerns.slice(0, most)).map(({ key, state, what, remedy }) => (
          <li key={key}>
            <span>
              <Badge state={state} />
            </span>
            <span>{what}</span>
            {remedy !== undefined && <span class="remedy">{remedy}</span>}
          </li>
        ))}
      </ul>
      {rest.length > 0 && (
        <div class="table-more">
          <span class="muted">{!isWhole && `and ${byKind(rest)}`}</span>
          <Button small expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
            {isWhole ? "Show fewer" : `Show all ${concerns.length}`}
          </Button>
        </div>
      )}
    </Panel>
  );
}

/** `2 alerts, 5 pauses` */
const byKind = (concerns: readonly Concern[]): string =>
  (Object.keys(kinds) as Kind[])
    .map((kind) => [concerns.filter((concern) => concern.kind === kind).length, ...kinds[kind]] as const)
    .filter(([n]) => n > 0)
    .map(([n, one, many]) => plural(n, one, many))
    .join(", ");

const slowlyMs = 30_000;

function useAlerts(): Concern[] {
  const { data } = useResource("alerts", (signal) => get<List<Alert>>("alerts", {}, signal), 15_000);
  return (data?.items ?? [])
    .filter(({ state, silenced }) => state === "firing" && !silenced)
    .map(({ rule, subject, state, message, since }) => ({
      kind: "alert",
      key: `alert ${rule} ${subject}`,
      state,
      what: (
        <>
          <a href={to(["alerts"])}>{rule}</a>: {message}, since <Ago at={since} />
        </>
      ),
    }));
}

function useFindings(): Concern[] {
  const { data } = useResource("doctor", (signal) => get<List<Finding>>("doctor", {}, signal), slowlyMs);
  return (data?.items ?? [])
    .filter(({ state }) => state === "wrong")
    .map(({ name, state, message, remedy }) => ({
      kind: "finding",
      key: `finding ${name} ${message}`,
      state,
      what: message,
      ...(remedy && { remedy }),
    }));
}

function useBreakers(): Concern[] {
  const { data } = useResource("breakers", (signal) => get<List<Breaker>>("breakers", {}, signal), slowlyMs);
  return (data?.items ?? [])
    .filter(({ state }) => state !== "closed")
    .map(({ queue, type, state, lastError }) => ({
      kind: "breaker",
      key: `breaker ${queue} ${type}`,
      state,
      what: (
        <>
          The breaker of <a href={to(["limits"])}>{type}</a> in <a href={to(["queues", queue])}>{queue}</a> holds its
          jobs back.
        </>
      ),
      ...(errorText(lastError) && { remedy: errorText(lastError) }),
    }));
}

function useFailing(): Concern[] {
  const { data } = useSchedules(slowlyMs);
  return (data ?? [])
    .filter(({ health }) => health === "failing" || health === "stopped" || health === "blocked")
    .map(({ name, health, message }) => ({
      kind: "schedule",
      key: `schedule ${name}`,
      state: health,
      what: (
        <>
          Schedule <a href={to(["schedules", name])}>{name}</a>
        </>
      ),
      ...(message && { remedy: message }),
    }));
}

function usePauses(): Concern[] {
  const { data } = useResource("pauses", (signal) => get<List<Pause>>("pauses", {}, signal), slowlyMs);
  return (data?.items ?? []).map(({ queue, type, group, pausedAt, pausedBy, pausedBecause }) => ({
    kind: "pause",
    key: `pause ${queue} ${type} ${group} ${pausedAt}`,
    state: "paused",
    what: (
      <>
        {[type, group]
          .filter((name) => name !== null)
          .map(isolated)
          .join(" of ")}
        {(type ?? group) && " in "}
        <a href={to(["queues", queue])}>{queue}</a> since <Ago at={pausedAt} />
        {pausedBy && ` by ${isolated(pausedBy)}`}
      </>
    ),
    ...(pausedBecause && { remedy: pausedBecause }),
  }));
}
