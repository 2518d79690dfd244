import type { ConnectionPool, PooledConnection, QueryResult, Queryable } from "../db/queryable.js";

/**
 * So long is an answer waited for. Far longer than any round trip takes; without an end, a connection that a firewall forgot, or whose server lost
 * power, would keep its worker waiting for good.
 */
const answerMs = 30_000;

type Query = Parameters<Queryable["query"]>[0];

/** A query that fails when no answer comes. The driver reads it, and the connection is not used again. */
export const withAnswerTime = (query: Query): Query & { readonly query_timeout: number } => ({ ...query, query_timeout: answerMs });

/** A pool whose queries fail when no answer comes. */
export class AnsweringPool implements ConnectionPool {
  constructor(readonly pool: ConnectionPool) {}

  query(query: Query): Promise<QueryResult> {
    return this.pool.query(withAnswerTime(query));
  }

  connect(): Promise<PooledConnection> {
    return this.pool.connect();
  }
}
