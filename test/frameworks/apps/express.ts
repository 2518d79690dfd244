import compression from "compression";
import type express from "express";
import helmet from "helmet";
import { Millrace } from "millrace/producer";
import { type User, createHandler } from "millrace/server";
import { portOf, say, userOf, welcome } from "./shared.js";

// Express 4 or 5, as the test says.
const { default: create } = (await import(process.env["EXPRESS"] ?? "express")) as { default: typeof express };
const mill = new Millrace();
const admin = createHandler({
  mill,
  user: (request: express.Request & { user?: User }) => request.user ?? null,
});

const app = create();
app.use(helmet(), compression());
app.use((request: express.Request & { user?: User }, response, next) => {
  const user = userOf(request.headers.cookie);
  if (user) {
    request.user = user;
    next();
  } else response.redirect("/login");
});
app.use("/admin/queue", admin.node);
app.use(create.json()); // parses what comes after it
app.use("/parsed/queue", admin.node);
app.post("/orders", (request, response, next) => {
  mill
    .enqueue(welcome, { email: String((request.body as { email: string }).email) })
    .then(({ id }) => response.status(202).json({ id }), next);
});
const server = app.listen(0, "127.0.0.1", () => say({ port: portOf(server.address()) }));
process.once("SIGTERM", () => {
  server.close(() => void mill.close());
  void admin.close();
});
