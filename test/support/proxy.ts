import { onTestFinished } from "vitest";
import { Network } from "../../chaos/network.js";

/** A network between a process and the database that a test can cut. */
export interface Proxy extends Pick<Network, "freeze" | "thaw" | "cut" | "mend"> {
  /** The database's address as seen through the proxy. */
  readonly url: string;
}

/** Gone after the test. Tests that run beside others give their own `onTestFinished`. */
export async function startProxy(
  databaseUrl: string,
  onFinished: (end: () => void) => void = onTestFinished,
): Promise<Proxy> {
  const url = new URL(databaseUrl);
  const network = await Network.open(Number(url.port));
  onFinished(() => network.close());
  url.hostname = "127.0.0.1";
  url.port = String(network.port);
  return {
    url: url.href,
    freeze: () => network.freeze(),
    thaw: () => network.thaw(),
    cut: () => network.cut(),
    mend: () => network.mend(),
  };
}
