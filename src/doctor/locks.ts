import { type Check, ok, wrong } from "./check.js";
import { duration, plural } from "./words.js";

/** Our own transactions hold a lane for milliseconds; an application's that holds jobs, for as long as it lasts. */
const maxMs = 60_000;

interface Holder {
  readonly pid: number;
  readonly role: string;
  readonly app: string;
  /** Null where the schema's owner may not see it. */
  readonly since: Date | null;
  readonly ms: number | null;
  readonly lanes: string;
}

/** Nobody keeps others from claiming: advisory locks are open to every role that may connect. */
export const locksCheck: Check = {
  name: "locks",
  needsSchema: true,
  async run({ read, maxSnapshotAgeMs }) {
    const holders = await read<Holder>("select pid, role, app, since, age_ms as ms, lanes from :lane_holders($1)", [
      Math.min(maxMs, maxSnapshotAgeMs) / 1000,
    ]);
    if (holders.length === 0) return [ok("nobody holds a lane for long")];
    return holders.map(({ pid, role, app, since, ms, lanes }) => {
      const who = [`process ${pid} of ${role}`, app && `(${app})`].filter(Boolean).join(" ");
      const time =
        since === null || ms === null ? "for an unknown time" : `since ${since.toISOString()} (${duration(ms)})`;
      return wrong(
        `${who} holds locks of ${plural(Number(lanes), "lane")}, ${time}: nobody claims from them meanwhile`,
        `end it there, or with select pg_terminate_backend(${pid}); do not let strangers connect to the database`,
      );
    });
  },
};
