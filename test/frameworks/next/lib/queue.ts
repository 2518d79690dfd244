import { Millrace, defineJob } from "millrace/producer";
import { type QueueHandler, type Role, createHandler } from "millrace/server";

export const welcome = defineJob<{ email: string }>("welcome");

// One of each for the process, also when modules are loaded anew in development. Made when it is first wanted:
// `next build` loads the modules of routes, and has no database.
const kept = globalThis as { mill?: Millrace; admin?: QueueHandler<Request> };

export const mill = (): Millrace => (kept.mill ??= new Millrace());
export const admin = (): QueueHandler<Request> => (kept.admin ??= createAdmin());

function createAdmin(): QueueHandler<Request> {
  const made = createHandler({
    mill: mill(),
    basePath: "/admin/queue",
    user: (request: Request) => {
      const [, name, role] = /(?:^|; )user=([^:;]+):(\w+)/.exec(request.headers.get("cookie") ?? "") ?? [];
      return name === undefined ? null : { name: decodeURIComponent(name), role: role as Role };
    },
  });
  process.once("SIGTERM", () => void made.close()); // Next.js waits for live streams to end
  return made;
}
