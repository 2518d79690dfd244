import type { ComponentChildren, JSX } from "preact";
import { Fragment } from "preact";
import { howMany, whyParts } from "../../src/db/why-text.js";
import { get, segment } from "../api.js";
import { exact } from "../format.js";
import { to } from "../router.js";
import type { List, Reason } from "../wire.js";
import { useResource } from "./resource.js";
import { Ago } from "./time.js";

/** So many reasons are shown; the first ones hold most. */
const maxReasons = 4;

/** Why something waits, a line for each reason. */
export function Why({ of }: { of: readonly Reason[] }): JSX.Element | null {
  if (of.length === 0) return null;
  const rest = of.length - maxReasons;
  return (
    <div class="note why" role="note" aria-label="Why it waits">
      <strong>Why it waits</strong>
      <ul>
        {of.slice(0, maxReasons).map((reason, index) => (
          <li key={index} data-code={reason.code}>
            <WhyLine of={reason} counted />
          </li>
        ))}
        {rest > 0 && (
          <li class="muted">
            and {exact(rest)} {rest === 1 ? "reason" : "reasons"} more
          </li>
        )}
      </ul>
    </div>
  );
}

/** One reason: names as they are, jobs as links, times from now. */
export function WhyLine({ of, counted = false }: { of: Reason; counted?: boolean }): JSX.Element {
  return (
    <>
      {[...(counted ? howMany(of) : []), ...whyParts(of)].map((part, index) => (
        <Fragment key={index}>{written(part)}</Fragment>
      ))}
    </>
  );
}

function written(part: ReturnType<typeof whyParts>[number]): ComponentChildren {
  if (typeof part === "string") return part;
  if ("name" in part) return <bdi class="why-name">{part.name}</bdi>;
  if ("said" in part) return <bdi>{part.said}</bdi>;
  if ("count" in part) return exact(part.count);
  if ("at" in part) return <Ago at={part.at} />;
  return (
    <a class="mono" href={to(["jobs", part.jobId])}>
      {part.jobId}
    </a>
  );
}

/** Why jobs of a queue wait, or of a type or a group of it. Without a queue nothing is asked. */
export function useQueueWhy(
  queue: string | undefined,
  part: { readonly type?: string; readonly group?: string } = {},
): readonly Reason[] {
  const { data } = useResource(
    `why ${JSON.stringify([queue, part.type, part.group])}`,
    async (signal) =>
      queue === undefined
        ? { items: [] }
        : get<List<Reason>>(`queues/${segment(queue)}/why`, { type: part.type, group: part.group }, signal),
    queue === undefined ? undefined : 5000,
  );
  return data?.items ?? [];
}
