import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get } from "../../api.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Ago } from "../../parts/time.js";
import type { Log } from "../../wire.js";

/** What a running job logs, as it comes; the newest line stays in sight unless somebody looks at older ones. */
export function LiveLog({ id }: { id: string }): JSX.Element | null {
  const log = useResource(`log ${id}`, (signal) => get<Log>(`jobs/${encodeURIComponent(id)}/log`, {}, signal), 1000);
  const place = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  const lines = log.data?.isRunning ? log.data.lines : [];
  useEffect(() => {
    if (isAtEnd.current && place.current) place.current.scrollTop = place.current.scrollHeight;
  }, [lines.at(-1)]);
  if (lines.length === 0) return null;
  return (
    <Panel
      title="Log"
      note={
        <>
          as it comes; last told <Ago at={log.data?.updatedAt} />
        </>
      }
    >
      <pre
        ref={place}
        class="block live-log"
        role="log"
        aria-label="Log of the running job"
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - 20;
        }}
      >
        {lines.join("\n")}
      </pre>
    </Panel>
  );
}
