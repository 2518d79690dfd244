import pg from "pg";
import { InvalidArgumentError } from "./errors.js";

export function isPool(connection: string | pg.PoolConfig | pg.Pool): connection is pg.Pool {
  return typeof connection === "object" && "connect" in connection && typeof connection.connect === "function";
}

/** A connection is free, or may be made. */
export function hasRoom({ idleCount, totalCount, waitingCount, options }: pg.Pool): boolean {
  return waitingCount === 0 && (idleCount > 0 || totalCount < options.max);
}

/** A pool as it suits a queue. */
export function newPool(connection: string | pg.PoolConfig): pg.Pool {
  const config = typeof connection === "string" ? { connectionString: connection } : connection;
  try {
    void new pg.Client(config); // reads the options, and does not connect
  } catch (error) {
    throw new InvalidArgumentError(
      "the connection string cannot be read",
      "correct DATABASE_URL, or the connection passed in",
      error,
    );
  }
  // A process that has nothing else to do ends, without waiting for idle connections. A new connection plans every
  // statement again, so that idle ones are kept for longer than the ten seconds of pg. The system asks the other end of
  // a silent connection whether it is still there, so that one that was forgotten on the way breaks within half a
  // minute.
  const pool = new pg.Pool({
    allowExitOnIdle: true,
    idleTimeoutMillis: 300_000,
    connectionTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...config,
  });
  pool.on("error", () => {}); // an idle connection that dies is replaced; the next call tells when that fails
  // One that dies in the moment it is handed out is heard by nobody yet: its greeting and its end may come in one
  // packet.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
