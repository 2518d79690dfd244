import { z } from "../../zod.js";
import { patienceMs, within } from "../../../cells/ask.js";
import type { CellRecord } from "../../../cells/cells.js";
import { DatabaseUnavailableError } from "../../../db/errors.js";
import { migrationStatus } from "../../../db/schema-version.js";
import type { Live } from "../../live/live.js";
import { type Mill, route } from "../route.js";
import { listOf, overview, time } from "../schemas.js";

const cellMove = z
  .strictObject({
    queue: z.string(),
    direction: z.enum(["leaving", "arriving"]),
    other: z.string().meta({ description: "the cell that it goes to, or comes from" }),
    held: z.boolean().meta({ description: "nothing is handed out before all has ended in the other cell" }),
    jobs: z.number().int().meta({ description: "those of it in this cell that have not ended" }),
    beganAt: time,
    by: z.string().nullable(),
  })
  .meta({ id: "CellMove" });

const cellRecord = z
  .strictObject({
    name: z.string(),
    state: z.enum(["member", "joining", "known", "missing"]).meta({
      description: "`member`: it gets new queues; `known`: it serves what it has; `missing`: it does not answer",
    }),
    because: z.string().optional().meta({ description: "why it does not answer" }),
    schemaVersion: z.number().int().nullable(),
    schemaState: z.enum(["current", "missing", "older", "newer"]).nullable().meta({
      description: "compared with the release of this server",
    }),
    workers: z.number().int().nullable().meta({ description: "how many serve it" }),
    overview: overview
      .nullable()
      .meta({ description: "it alone, as GET /overview shows all; null while nobody knows" }),
    moves: z.array(cellMove).meta({ description: "queues that leave it, and have jobs left, or arrive" }),
  })
  .meta({ id: "Cell" });

export const cellRoutes = [
  route({
    method: "GET",
    path: "/cells",
    role: "reader",
    summary:
      "each cell by itself: whether it answers, its release, how many jobs wait and run, which workers serve it, and which queues move; an empty list if there is only one",
    cells: "named",
    answer: listOf(cellRecord),
    async handle({ mill, live }) {
      if (!mill.cells) return { items: [] };
      const [cells] = await Promise.all([mill.cells.list(), live.now().catch(() => undefined)]);
      return { items: await Promise.all(cells.map((cell) => described(mill, live, cell))) };
    },
  }),
];

async function described({ cells }: Mill, live: Live, { name, state, workers, because }: CellRecord): Promise<object> {
  const gone = { schemaVersion: null, schemaState: null, workers: null, overview: null, moves: [] };
  if (state === "missing") return { name, state, because, ...gone };
  const engine = await cells!.engine(name);
  try {
    const [status, moves] = await within(
      patienceMs,
      { name },
      Promise.all([migrationStatus(engine.pool, { schema: engine.schema }), engine.moves.list()]),
    );
    return {
      name,
      state,
      schemaVersion: status.installed,
      schemaState: status.state,
      workers,
      overview: live.cells.get(name)?.overview ?? null,
      moves: moves
        .filter(({ drainedAt }) => drainedAt === null)
        .map(({ queue, direction, cell: other, held, live: jobs, beganAt, by }) => ({
          queue,
          direction,
          other,
          held,
          jobs,
          beganAt,
          by,
        })),
    };
  } catch (error) {
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    return { name, state: "missing", because: error.message, ...gone };
  }
}
