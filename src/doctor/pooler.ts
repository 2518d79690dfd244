import { randomUUID } from "node:crypto";
import pg from "pg";
import { type Check, type Finding, ok, wrong } from "./check.js";

const listenMs = 2000;

/** Each connection has a session of its own: notifications arrive, prepared statements stay. */
export const poolerCheck: Check = {
  name: "pooler",
  needsSchema: false,
  async run({ pool }) {
    // A pool hides its password from whoever copies its options.
    const { password } = pool.options;
    const options = {
      ...pool.options,
      ...(password === undefined ? {} : { password }),
      application_name: "millrace doctor",
    };
    const one = new pg.Client(options);
    const other = new pg.Client(options);
    for (const client of [one, other]) client.on("error", () => {}); // the next query tells
    try {
      await Promise.all([one.connect(), other.connect()]);
      const findings = [...(await sharedSession(one, other)), ...(await lostNotification(one, other))];
      return findings.length > 0
        ? findings
        : [ok("no transaction pooler in the way: sessions are our own, notifications arrive")];
    } finally {
      await Promise.allSettled([one.end(), other.end()]);
    }
  },
};

/** Two connections that answer from the same process, or one that answers from two, are somebody's pool. */
async function sharedSession(one: pg.Client, other: pg.Client): Promise<Finding[]> {
  const statement = { name: `doctor_${randomUUID()}`, text: "select pg_backend_pid() as pid" };
  const first = await pidOf(one, statement);
  await other.query("begin"); // takes whatever the pool has free, most likely the session just used
  const held = await pidOf(other, "select pg_backend_pid() as pid");
  const later = await pidOf(one, statement).catch(() => undefined);
  await other.query("rollback");
  if (later === undefined) {
    return [
      wrong(
        "a transaction pooler is in the way, and it does not carry prepared statements",
        "pass prepare: false, or connect directly; workers need a direct connection",
      ),
    ];
  }
  return first === held || later !== first
    ? [
        wrong(
          "a transaction pooler is in the way",
          "fine for producers; give workers a direct connection or session pooling, for wake-ups and heartbeats",
        ),
      ]
    : [];
}

async function pidOf(
  client: pg.Client,
  query: string | { readonly name: string; readonly text: string },
): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(query);
  return rows[0]!.pid;
}

async function lostNotification(one: pg.Client, other: pg.Client): Promise<Finding[]> {
  const channel = `millrace_doctor_${randomUUID().replaceAll("-", "")}`;
  const arrived = new Promise<boolean>((resolve) => {
    one.on("notification", (message) => message.channel === channel && resolve(true));
    setTimeout(() => resolve(false), listenMs).unref();
  });
  await one.query(`listen ${channel}`);
  await other.query("select pg_notify($1, '')", [channel]);
  const isHeard = await arrived;
  await one.query(`unlisten ${channel}`);
  return isHeard
    ? []
    : [
        wrong(
          "a notification did not arrive",
          "workers find jobs by polling only, up to a poll interval later: connect them directly, not through a transaction pooler",
        ),
      ];
}
