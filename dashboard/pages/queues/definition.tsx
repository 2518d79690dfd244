import type { JSX } from "preact";
import { get } from "../../api.js";
import { JsonTree } from "../../parts/json-tree.js";
import { Facts, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import type { Definition, List } from "../../wire.js";

/** What workers have declared of a type: it holds for jobs that come without the code. Nothing where none has. */
export function DefinitionPanel({ type }: { type: string }): JSX.Element | null {
  const found = useResource(
    `definition ${type}`,
    (signal) => get<List<Definition>>("definitions", { type }, signal),
    30_000,
  );
  const one = found.data?.items[0];
  if (!one) return null;
  const { version, queue, defaults, inputSchema, declaredBy, declaredAt } = one;
  return (
    <Panel title="Definition" note="declared by workers; it holds for jobs that are enqueued without the code">
      <Facts
        of={[
          ["Version", version],
          ["Queue", queue && <a href={to(["queues", queue])}>{queue}</a>],
          ["Declared by", declaredBy],
          ["Declared", <Ago key="declared" at={declaredAt} />],
          ...Object.entries(defaults).map(
            ([name, value]) => [name, <code key={name}>{JSON.stringify(value)}</code>] as const,
          ),
        ]}
      />
      {inputSchema !== null && (
        <>
          <p class="muted">Schema of the input</p>
          <JsonTree value={inputSchema} />
        </>
      )}
    </Panel>
  );
}
