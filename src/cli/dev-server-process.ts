// The process that keeps the server of `millrace dev`: in a group of its own, so that Ctrl-C reaches only who may
// decide what it means, and gone with its parent, so that no server outlives a `millrace dev` that was killed.
import { rmSync } from "node:fs";
import path from "node:path";
import { devUrlFile } from "../embedded/dev-url.js";
import { startEmbeddedServer } from "../embedded/server.js";

/** What it tells its parent, once. */
export type FromServerProcess = { readonly pid: number; readonly url: string } | { readonly error: string };

const [folder, port] = process.argv.slice(2) as [string, string];
const parentWantsStop = new Promise<void>((resolve) => {
  process.on("message", () => resolve());
  process.on("disconnect", () => resolve());
});
const tell = (message: FromServerProcess): void =>
  void (process.connected && process.send?.(message, undefined, undefined, () => {}));

process.on("SIGTERM", () => {});
process.on("SIGINT", () => {});
try {
  const server = await startEmbeddedServer({ folder, settings: { port } });
  tell({ pid: server.pid, url: server.url });
  await parentWantsStop;
  rmSync(path.join(folder, devUrlFile), { force: true });
  await server.stop();
} catch (error) {
  tell({ error: (error as Error).message });
}
if (process.connected) process.disconnect?.();
