import type { JSX } from "preact";
import { Fragment } from "preact";
import { count, percent, plural } from "../../format.js";
import { Badge, toneOf } from "../../parts/badge.js";
import { Share } from "../../parts/share.js";
import { Ago, Moment } from "../../parts/time.js";
import type { Job } from "../../wire.js";

/** What a suspended job waits for, and since when: the top of its steps. */
export function Waits({ waits, suspendedAt }: Pick<Job, "waits" | "suspendedAt">): JSX.Element | null {
  if (waits === null) return null;
  const { signals, children, until, steps, after } = waits;
  const isSleep = signals.length === 0 && children.length === 0;
  return (
    <li class={toneOf("suspended")}>
      <div class="timeline-head">
        <Badge state="suspended" />
        <span>
          <Ago at={suspendedAt} />, and waits for{" "}
          {signals.length + children.length + (until === null ? 0 : 1) > 1 ? "the first of these" : "this"}
        </span>
      </div>
      <ul class="waits">
        {signals.length > 0 && (
          <li>
            a signal{" "}
            {signals.map((name, index) => (
              <Fragment key={name}>
                {index > 0 && " or "}
                <span class="tag" title={name}>
                  {name}
                </span>
              </Fragment>
            ))}
          </li>
        )}
        {children.map(({ step, left, of }) => (
          <li key={step}>
            <span>
              {left === null ? plural(of, "child", "children") : `${count(left)} of ${plural(of, "child", "children")}`}{" "}
              of
            </span>
            <span class="tag" title={step}>
              {step}
            </span>
            {left !== null && <Share of={Math.min(0.999, 1 - left / of)} text={percent(1 - left / of)} />}
          </li>
        ))}
        {after !== null && (
          <li>
            <span>
              {count(after.left)} of {plural(after.of, "job")} to have {after.when}
            </span>
            <Share of={Math.min(0.999, 1 - after.left / after.of)} text={percent(1 - after.left / after.of)} />
          </li>
        )}
        {until !== null && (
          <li>
            <span>
              <Moment at={until} />, <Ago at={until} />
              {isSleep && `, in ${steps.join(", ")}`}
            </span>
          </li>
        )}
      </ul>
    </li>
  );
}
