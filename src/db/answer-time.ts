import type { ConnectionPool, PooledConnection, QueryResult, Queryable } from "./queryable.js";

/**
 * So long is an answer waited for. Far longer than any round trip takes; without an end, a connection that a firewall
 * forgot, or whose server lost power, would keep its worker waiting for good.
 */
const answerMs = 30_000;
/** Upkeep of large tables takes its time. */
export const upkeepAnswerMs = 600_000;

type Query = Parameters<Queryable["query"]>[0];

/** Ask, and fail when no answer comes. The driver keeps the time; the pool does not use such a connection again. */
export async function answered(
  pool: ConnectionPool,
  connection: Queryable,
  query: Query,
  withinMs = answerMs,
): Promise<QueryResult> {
  try {
    return await connection.query({ ...query, query_timeout: withinMs } as Query);
  } catch (error) {
    // whoever asks next is told
    if (error instanceof Error && error.message === "Query read timeout") void forgetIdle(pool).catch(() => {});
    throw error;
  }
}

/** What is idle was most likely forgotten at the same time, and each would take as long to show it. */
async function forgetIdle(pool: ConnectionPool & { readonly idleCount?: number }): Promise<void> {
  for (let left = pool.idleCount ?? 0; left > 0; left -= 1) (await pool.connect()).release(true);
}

/** A pool whose queries fail when no answer comes. */
export class AnsweringPool implements ConnectionPool {
  constructor(
    readonly pool: ConnectionPool,
    readonly withinMs = answerMs,
  ) {}

  query(query: Query): Promise<QueryResult> {
    return answered(this.pool, this.pool, query, this.withinMs);
  }

  connect(): Promise<PooledConnection> {
    return this.pool.connect();
  }
}
