import pg from "pg";
import { InvalidArgumentError } from "../db/errors.js";

/** Work with a pool on the database that was named, and close it afterwards. */
export async function withPool<T>(url: string | undefined, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  if (!url) throw new InvalidArgumentError("no database given", "set DATABASE_URL, or pass --url");
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on("error", () => {}); // a dying idle connection is replaced; the next query tells
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
