import Fastify from "fastify";
import { Millrace } from "millrace/producer";
import { type User, createHandler } from "millrace/server";
import { portOf, say, userOf, welcome } from "./shared.js";

declare module "fastify" {
  interface FastifyRequest {
    user?: User;
  }
}

const mill = new Millrace();
const admin = createHandler({ mill, basePath: "/ops/jobs" });
const app = Fastify({ forceCloseConnections: true }); // those too that nothing was sent on yet

app.addHook("onRequest", async (request, reply) => {
  const user = userOf(request.headers.cookie);
  if (!user) return reply.redirect("/login");
  request.user = user;
});
await app.register(async (scope) => {
  // The handler reads bodies itself.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
  for (const path of ["/ops/jobs", "/ops/jobs/*"])
    scope.all(path, (request, reply) => {
      reply.hijack();
      return admin.node(request.raw, reply.raw, { user: request.user, address: request.ip });
    });
});
app.post<{ Body: { email: string } }>("/orders", async (request, reply) => {
  const { id } = await mill.enqueue(welcome, { email: request.body.email });
  return reply.code(202).send({ id });
});
app.addHook("preClose", () => admin.close());
app.addHook("onClose", () => mill.close());
await app.listen({ port: 0, host: "127.0.0.1" });
say({ port: portOf(app.server.address()) });
process.once("SIGTERM", () => void app.close());
