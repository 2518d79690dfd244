import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.js";
import { Button } from "../../parts/button.js";
import { Labelled } from "../../parts/labelled.js";
import { Problem } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { ruleHint, ruleOf } from "./rule.js";
import { Slots } from "./slots.js";

interface Answer {
  readonly items: readonly string[];
  readonly description: string | null;
}

/** When a rule would run; nothing is written. */
export function Preview(): JSX.Element {
  const [rule, setRule] = useState("0 3 * * MON-FRI");
  const [zone, setZone] = useState(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [answer, setAnswer] = useState<Answer>();
  const [error, setError] = useState<unknown>();

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      setAnswer(await send<Answer>("POST", "schedules/preview", { rule: ruleOf(rule.trim(), zone.trim()), count: 10 }));
      setError(undefined);
    } catch (problem) {
      setError(problem);
      setAnswer(undefined);
    }
  };
  return (
    <Panel title="Try a rule" note="nothing is written">
      <form class="preview" onSubmit={(event) => void submit(event)}>
        <Labelled label="Rule" hint={ruleHint}>
          {(ids) => (
            <input
              {...ids}
              class="mono"
              value={rule}
              required
              spellcheck={false}
              onInput={(event) => setRule(event.currentTarget.value)}
            />
          )}
        </Labelled>
        <Labelled label="Time zone">
          {(ids) => (
            <input {...ids} value={zone} spellcheck={false} onInput={(event) => setZone(event.currentTarget.value)} />
          )}
        </Labelled>
        <Button type="submit">Show the next runs</Button>
      </form>
      {error !== undefined && <Problem error={error} />}
      {answer?.description && <p>{answer.description}</p>}
      {answer && <Slots times={answer.items} />}
    </Panel>
  );
}
