// A process of its own for everything a system does: child/main.ts <system> <url of its store>.
import { findSystem } from "../systems/index.ts";
import { Adding } from "./adding.ts";
import type { HandledNote, Handlers, Message, Request } from "./commands.ts";
import { Working } from "./working.ts";

const [name, url] = process.argv.slice(2) as [string, string];
const system = await findSystem(name).load();
// The bench may have hung up already.
const say = (message: Message): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
};
const adding = new Adding(system, url);
const working = new Working(system, url, (handled) => say({ handled }));

const handlers: Handlers = {
  setup: ({ queues }) => system.setup(url, queues),
  addBulk: (args) => adding.bulk(args),
  addBacklog: (args) => adding.backlog(args),
  addSingly: (args) => adding.singly(args),
  startAdding: (args) => adding.start(args),
  stopAdding: () => adding.stop(),
  addSamples: (args) => adding.samples(args),
  drain: (args) => working.drain(args),
  drainSome: (args) => working.drainSome(args),
  startWorkers: (args) => working.start(args),
  handled: () => working.handled(),
  stopWorkers: () => working.stop(),
  payloads: async (args) => (await import("./payloads.ts")).payloads(url, args),
};

process.on("message", (request: Request | HandledNote) => {
  if ("handled" in request) {
    adding.noteHandled(request.handled);
    return;
  }
  handlers[request.command](request.args).then(
    (answer) => say({ id: request.id, answer }),
    (error: unknown) =>
      say({ id: request.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
// Whoever started this is gone, or done with it.
process.on("disconnect", () => process.exit());
