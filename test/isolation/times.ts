import { day } from "./clock.js";
import type { TimeName } from "./combination.js";
import type { Stage } from "./stage.js";

/** What time does: before the scene is set, before the first verb, and between the verbs. */
interface Time {
  readonly beforeScene?: (stage: Stage) => Promise<unknown>;
  readonly beforeFirst?: (stage: Stage) => Promise<unknown>;
  readonly between?: (stage: Stage) => Promise<unknown>;
  /** How far the clock moves at each round of the drain; beyond every lease. */
  readonly drainSeconds?: number;
}

const hour = 3600;

/** Past the retention (an hour) of what has ended, which counts from the end of the day. */
const pastRetention = (stage: Stage): Promise<unknown> => stage.clock.moveToMidnight(1.5 * hour);

export const timeEffects: Readonly<Record<TimeName, Time>> = {
  none: {},
  /** Midnight (UTC) passes: jobs before and after it live in different ring children. */
  midnight: { beforeScene: ({ clock }) => clock.moveToMidnight(-25), between: ({ clock }) => clock.move(30) },
  lease: { between: ({ clock }) => clock.move(31) },
  expiry: { between: ({ clock }) => clock.move(61) },
  /** Retention has passed before the first verb; nobody has rotated yet. */
  retention: { beforeFirst: pastRetention, drainSeconds: 4 * day },
  /** It passes between the verbs, and the ring child of the scene's day is emptied, all but its survivors. */
  rotated: {
    between: async (stage) => {
      await pastRetention(stage);
      for (let i = 0; i < 6; i += 1) {
        if (
          Number((await stage.keeper.client.query({ name: "rotate", text: "select job_rotate() as n" })).rows[0].n) ===
          0
        )
          break;
      }
    },
    drainSeconds: 4 * day,
  },
  /** The ring of tickets goes round. */
  ring: {
    between: async (stage) => {
      for (let i = 0; i < 4; i += 1) {
        await stage.keeper.client.query(
          "do $$ begin for i in 1 .. 20 loop perform pg_current_xact_id(); commit; end loop; end $$",
        );
        const { rows } = await stage.keeper.client.query({
          name: "rotate tickets",
          text: "select ticket_rotate() as emptied, groups_forget()",
        });
        stage.emptied += Number(rows[0].emptied);
      }
    },
  },
};
