import { Millrace } from "millrace";
import { Network } from "../network.js";
import type { World } from "../world.js";

/** Ways of their own to all cells: what is done to them is felt only by those who take them. */
export class Ways {
  private constructor(readonly networks: ReadonlyMap<string, Network>) {}

  static async open(world: World): Promise<Ways> {
    const networks = new Map<string, Network>();
    for (const { name, server } of world.sites) networks.set(name, await Network.open(server.port));
    world.onClose(() => {
      for (const network of networks.values()) network.close();
    });
    return new Ways(networks);
  }

  get cells(): Record<string, string> {
    return Object.fromEntries([...this.networks].map(([name, { url }]) => [name, url]));
  }

  of(name: string): Network {
    return this.networks.get(name)!;
  }

  freeze(): void {
    for (const network of this.networks.values()) network.freeze();
  }

  thaw(): void {
    for (const network of this.networks.values()) network.thaw();
  }
}

/** A client of the suite over cells. Connections, and answers on them, are waited for no longer than `patienceMs`. */
export function client(world: World, cells: Readonly<Record<string, string>>, patienceMs: number): Millrace {
  const mill = new Millrace({
    cells: Object.fromEntries(
      Object.entries(cells).map(([name, connectionString]) => [
        name,
        { connectionString, connectionTimeoutMillis: patienceMs, query_timeout: patienceMs },
      ]),
    ),
    logger: false,
  });
  world.onClose(() => mill.close());
  return mill;
}

/** A new queue in a cell: one of the names that the list gives to it. */
export async function queueIn(mill: Millrace, cell: string, name: string, options: object = {}): Promise<string> {
  for (let n = 0; ; n += 1) {
    const queue = `${name}-${n}`;
    if ((await mill.cells!.whereIs(queue)) !== cell) continue;
    await mill.queues.put(queue, options);
    return queue;
  }
}
