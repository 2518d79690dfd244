import type { Reason } from "../db/types.js";
import { whyText } from "../db/why-text.js";
import { type Check, type Finding, ok, wrong } from "./check.js";
import { plural } from "./words.js";

/** Who pauses something for longer than this may have forgotten it. */
const longMs = 86_400_000;
/** Of so many queues the reasons are looked up. */
const maxQueues = 20;

interface Blocked {
  readonly name: string;
  readonly waiting: string;
  readonly blocked: string;
  readonly why: readonly Reason[];
}

/** What holds jobs back is told, and what nobody may know of is wrong. */
export const heldCheck: Check = {
  name: "held",
  needsSchema: true,
  async run({ read }) {
    const queues = await read<Blocked>(
      `select q.name, q.waiting, q.blocked, :queue_why(q.name) as why
         from (select name, waiting, blocked from :queues where blocked > 0 order by blocked desc, name limit $1) q`,
      [maxQueues],
    );
    return queues.length > 0 ? queues.flatMap(told) : [ok("no job is blocked")];
  },
};

function told({ name, waiting, blocked, why }: Blocked): Finding[] {
  const head = `queue "${name}": ${plural(Number(blocked), "job")} of ${Number(waiting).toLocaleString("en")} that wait ${Number(blocked) === 1 ? "is" : "are"} blocked`;
  const held = why.filter(({ code }) => code === "paused" || code === "breakerOpen" || code === "queueWaits");
  const forgotten = held.filter(
    (reason) =>
      reason.code === "breakerOpen" || (reason.code === "paused" && Date.now() - Date.parse(reason.since) > longMs),
  );
  const message = `${head}. ${held.map((reason) => whyText(reason)).join(". ")}`;
  return [
    forgotten.length === 0 ? ok(message) : wrong(message, forgotten.map((reason) => remedy(name, reason)).join("; ")),
  ];
}

function remedy(queue: string, reason: Reason): string {
  if (reason.code === "breakerOpen")
    return `look at what fails ("millrace failures --type ${reason.type}"); "millrace breakers reset --queue ${queue} --type ${reason.type}" tries at once`;
  const { type, group } = reason as Extract<Reason, { code: "paused" }>;
  const part = [type && ` --type ${type}`, group && ` --group ${group}`].filter(Boolean).join("");
  return `"millrace queues resume ${queue}${part}" when it is no longer wanted`;
}
