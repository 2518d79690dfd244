import type { ComponentChildren, JSX } from "preact";
import { errorText } from "../../../src/db/error-text.js";
import { get } from "../../api.js";
import { Badge } from "../../parts/badge.js";
import { isolated } from "../../parts/isolated.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import type { Alert, Breaker, Finding, List, Pause } from "../../wire.js";
import { useSchedules } from "../schedules/use-schedules.js";

const most = 6;

interface Concern {
  readonly key: string;
  readonly state: string;
  readonly what: ComponentChildren;
  readonly remedy?: ComponentChildren;
}

/** What somebody should look at: findings, pauses, breakers, schedules. Nothing is shown when there is nothing. */
export function Attention(): JSX.Element | null {
  const concerns = [...useAlerts(), ...useFindings(), ...useBreakers(), ...useFailing(), ...usePauses()];
  if (concerns.length === 0) return null;
  return (
    <Panel
      title="Worth a look"
      note={concerns.length > most ? `${most} of ${concerns.length}` : undefined}
      actions={<a href={to(["health"])}>Health</a>}
      flush
    >
      <ul class="warnings">
        {concerns.slice(0, most).map(({ key, state, what, remedy }) => (
          <li key={key}>
            <span>
              <Badge state={state} />
            </span>
            <span>{what}</span>
            {remedy !== undefined && <span class="remedy">{remedy}</span>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const slowlyMs = 30_000;

function useAlerts(): Concern[] {
  const { data } = useResource("alerts", (signal) => get<List<Alert>>("alerts", {}, signal), 15_000);
  return (data?.items ?? [])
    .filter(({ state, silenced }) => state === "firing" && !silenced)
    .map(({ rule, subject, state, message, since }) => ({
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
