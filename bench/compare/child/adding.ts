import { setTimeout as sleep } from "node:timers/promises";
import { payloads } from "../../engine/measure.ts";
import type { Input, Producer, System } from "../systems/system.ts";
import { now } from "./clock.ts";
import type { Commands } from "./commands.ts";

type Args<C extends keyof Commands> = Commands[C]["args"];
type Answer<C extends keyof Commands> = Promise<Commands[C]["answer"]>;

/** The producing side of a system. */
export class Adding {
  readonly #system: System;
  readonly #url: string;
  #handled = 0;
  #sent = 0;
  #stopping = false;
  #loops: Promise<unknown> = Promise.resolve();
  #producer: Producer | undefined;

  constructor(system: System, url: string) {
    this.#system = system;
    this.#url = url;
  }

  async bulk({ jobs, batch, inFlight, warm = 0, groups }: Args<"addBulk">): Answer<"addBulk"> {
    const producer = await this.#system.produce(this.#url, { connections: inFlight, live: false });
    const inputs = payloads(batch);
    let next = 0;
    const add = async (size: number): Promise<void> => {
      const keys =
        groups === undefined ? undefined : Array.from({ length: size }, () => `group-${(next += 1) % groups}`);
      await producer.addMany(size === batch ? inputs : inputs.slice(0, size), keys);
    };
    for (let i = 0; i < warm; i += 1) await add(batch);
    const startedAt = now();
    let left = jobs;
    await times(inFlight, async () => {
      while (left > 0) {
        const size = Math.min(batch, left);
        left -= size;
        await add(size);
      }
    });
    const seconds = (now() - startedAt) / 1000;
    await producer.close();
    return { seconds };
  }

  /**
   * Where one row is one job, a million jobs are a million copies of a row; that is not what is measured, and it saves
   * minutes.
   */
  async backlog({ jobs }: Args<"addBacklog">): Answer<"addBacklog"> {
    const { table, unique = {} } = this.#system;
    await this.bulk({ jobs: table === undefined ? jobs : 1, batch: 2000, inFlight: 2 });
    if (table === undefined) return;
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: this.#url });
    await client.connect();
    const { rows } = await client.query(
      `select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' and attidentity = '' and attname <> all ($2)`,
      [table, ["id", ...Object.keys(unique)]],
    );
    const [{ columns }] = rows as [{ columns: string }];
    const into = [columns, ...Object.keys(unique)].join(", ");
    const from = [columns, ...Object.values(unique)].join(", ");
    await client.query(`insert into ${table} (${into}) select ${from} from ${table}, generate_series(2, ${jobs}) n`);
    await client.end();
  }

  async singly({ jobs, connections }: Args<"addSingly">): Answer<"addSingly"> {
    const producer = await this.#system.produce(this.#url, { connections, live: false });
    const inputs = payloads(1000);
    await times(connections, () => producer.add(inputs[0]!));
    const startedAt = now();
    let sent = 0;
    await times(connections, async () => {
      while (sent < jobs) {
        sent += 1;
        await producer.add(inputs[sent % inputs.length]!);
      }
    });
    const seconds = (now() - startedAt) / 1000;
    await producer.close();
    return { seconds };
  }

  async start({ batch, inFlight, bound }: Args<"startAdding">): Answer<"startAdding"> {
    const producer = (this.#producer = await this.#system.produce(this.#url, {
      connections: inFlight,
      live: true,
      busy: true,
    }));
    const inputs = payloads(batch);
    this.#loops = times(inFlight, async () => {
      while (!this.#stopping) {
        if (this.#sent - this.#handled > bound - batch) {
          await sleep(2);
        } else {
          this.#sent += batch;
          await producer.addMany(inputs);
        }
      }
    });
  }

  noteHandled(handled: number): void {
    this.#handled = handled;
  }

  async stop(): Answer<"stopAdding"> {
    this.#stopping = true;
    await this.#loops;
    await this.#producer?.close();
    return { sent: this.#sent };
  }

  /** Random gaps, so that no poll interval of any system can keep step with the samples. */
  async samples({ samples, meanGapMs }: Args<"addSamples">): Answer<"addSamples"> {
    const producer = await this.#system.produce(this.#url, { connections: 2, live: true });
    const [input] = payloads(1) as [Input];
    const sending: Promise<unknown>[] = [];
    for (let i = 0; i < samples; i += 1) {
      await sleep(Math.min(-Math.log(1 - Math.random()), 4) * meanGapMs);
      sending.push(producer.add({ ...input, sentAt: now() }));
    }
    await Promise.all(sending);
    await producer.close();
  }
}

async function times(n: number, work: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: n }, work));
}
