import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { secureHeaders } from "hono/secure-headers";
import { Millrace } from "millrace/producer";
import { type User, createHandler } from "millrace/server";
import { say, userOf, welcome } from "./shared.js";

const mill = new Millrace();
const admin = createHandler({ mill, basePath: "/internal/queue" });
const app = new Hono<{ Variables: { user: User } }>();

app.use(secureHeaders(), compress());
app.use(async (context, next) => {
  const user = userOf(context.req.header("cookie"));
  if (!user) return context.redirect("/login");
  context.set("user", user);
  await next();
});
app.all("/internal/queue/*", (context) => admin.fetch(context.req.raw, { user: context.get("user") }));
app.post("/orders", async (context) => {
  const { email } = await context.req.json<{ email: string }>();
  const { id } = await mill.enqueue(welcome, { email });
  return context.json({ id }, 202);
});
const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => say({ port }));
process.once("SIGTERM", () => {
  server.close(() => void mill.close());
  void admin.close();
});
