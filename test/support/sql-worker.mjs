// A process with several workers that speak plain SQL, as a client in any language would.
// Arguments: connection string, queue, number of workers, jobs per claim. Prints {"ran": [ids], "errors": [messages]}
// when nothing is left.
import pg from "pg";

const [url, queue, workers, limit] = process.argv.slice(2);
const ran = [];
const errors = [];

async function work() {
  const client = new pg.Client({ connectionString: url, options: "-c search_path=millrace" });
  await client.connect();
  try {
    for (;;) {
      const { rows } = await client.query(
        "select token, array_agg(job_id) as ids from job_claim(array[$1], p_limit => $2) group by token",
        [queue, limit],
      );
      for (const { token, ids } of rows) {
        ran.push(...ids);
        await client.query("select job_complete($1, $2)", [token, ids]);
      }
      // An empty claim may only mean that others held all lanes with work at that moment.
      if (rows.length === 0 && (await client.query("select ready from queue_depth($1)", [queue])).rows[0].ready === "0")
        return;
    }
  } catch (error) {
    errors.push(`${error.code} ${error.message}`);
  } finally {
    await client.end();
  }
}

await Promise.all(Array.from({ length: Number(workers) }, work));
process.stdout.write(JSON.stringify({ ran, errors }));
