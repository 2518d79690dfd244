import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";

/** The way from processes to the server: an address that stays while servers come and go, and that can be cut. */
export class Network {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #stranded = new Set<Socket>();
  #isFrozen = false;
  #isCut = false;
  /** Port of the server that new connections go to. */
  target: number;

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer((near) => this.#accept(near));
  }

  static async open(target: number): Promise<Network> {
    const network = new Network(target);
    network.#server.listen(0, "127.0.0.1");
    await once(network.#server, "listening");
    return network;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /**
   * Connections stay open, and nothing arrives: as when a cable is pulled. New ones are accepted, and answered by
   * nobody.
   */
  freeze(): void {
    this.#isFrozen = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** What was under way arrives, late. */
  thaw(): void {
    this.#isFrozen = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /**
   * Connections are left half-open for good: neither end hears of the other again, nor of an end. New ones go through.
   */
  strand(): void {
    for (const socket of this.#sockets) this.#stranded.add(socket.pause());
    this.#sockets.clear();
  }

  /** Break all connections and refuse new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    for (const socket of this.#stranded) socket.destroy();
    this.#server.close();
  }

  #accept(near: Socket): void {
    if (this.#isCut) {
      near.destroy();
      return;
    }
    const far = connect(this.target, "127.0.0.1");
    this.#join(near, far);
    this.#join(far, near);
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on("data", (data) => to.write(data));
    from.on("close", () => (this.#sockets.delete(from), to.destroy()));
    from.on("error", () => to.destroy());
    if (this.#isFrozen) from.pause();
  }
}
