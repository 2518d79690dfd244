import type { JSX } from "preact";
import { get } from "../../api.js";
import { plural, timeOfDay } from "../../format.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import type { Finding, List } from "../../wire.js";

const order = { wrong: 0, skipped: 1, ok: 2 } as const;

/** What the doctor says: what is wrong, and what to do about it. */
export function Health(): JSX.Element {
  const doctor = useResource("doctor", (signal) => get<List<Finding>>("doctor", {}, signal), 60_000);
  const wrong = doctor.data?.items.filter(({ state }) => state === "wrong").length;
  return (
    <>
      <PageHead
        title="Health"
        beside={wrong !== undefined && <Badge state={wrong === 0 ? "healthy" : "wrong"} />}
        actions={<Button onClick={doctor.reload}>Look again</Button>}
      >
        The same as <code>millrace doctor</code>.
      </PageHead>
      <Panel
        title={wrong === undefined ? "Findings" : wrong === 0 ? "All is well" : `${plural(wrong, "thing")} to look at`}
        note={doctor.at !== undefined && `as of ${timeOfDay(doctor.at)}`}
        flush
      >
        <Load of={doctor}>
          {({ items }) => (
            <ul class="warnings">
              {items
                .toSorted((a, b) => order[a.state] - order[b.state])
                .map(({ name, state, message, remedy, cell }) => (
                  <li key={`${cell} ${name} ${message}`}>
                    <span>
                      <Badge state={state} />
                    </span>
                    <span>
                      {cell !== undefined && <bdi class="muted">{cell} </bdi>}
                      <strong>{name}</strong> {message}
                    </span>
                    {remedy && <span class="remedy">{remedy}</span>}
                  </li>
                ))}
            </ul>
          )}
        </Load>
      </Panel>
    </>
  );
}
