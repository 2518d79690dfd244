import { describe, expect, it, onTestFinished } from "vitest";
import { createHandler } from "../../src/server/handler.js";
import { type RunningServer, type ServerOptions, startServer } from "../../src/server/server.js";
import { Running, millrace } from "../cli/cli.js";
import { useCellMills } from "../support/cell-mills.js";
import { makeIdsEqual } from "../support/equal-ids.js";
import { startProxy } from "../support/proxy.js";
import { until } from "../support/wait.js";

const cells = useCellMills();

interface Serving {
  readonly server: RunningServer;
  readonly ask: (
    method: string,
    path: string,
    body?: unknown,
  ) => Promise<{ readonly status: number; readonly body: any }>;
  /** Makes a queue in this cell. */
  readonly queueIn: (cell: string) => Promise<string>;
}

/** A server over the cells, until the test ends. */
async function serve(options: ServerOptions = {}): Promise<Serving> {
  const server = await startServer({ cells: cells.urls, port: 0, graceMs: 500, sqs: { anyKey: true }, ...options });
  onTestFinished(() => server.stop());
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    return { status: response.status, body: await response.json() };
  };
  return {
    server,
    ask,
    async queueIn(cell) {
      const name = await cells.nameIn(cell, server.mill);
      expect((await ask("PUT", `/queues/${name}`, {})).status).toBe(200);
      return name;
    },
  };
}

describe("the API over three cells", () => {
  it("[#227] tells two jobs with equal ids apart: get, result, events, cancel, discard and audit", async () => {
    const { ask, queueIn } = await serve();
    const queues = { a: await queueIn("a"), b: await queueIn("b") };
    await makeIdsEqual(cells.dbs.a, cells.dbs.b);
    const made = {
      a: (await ask("POST", "/jobs", { queue: queues.a, type: "same", input: "of a" })).body.id,
      b: (await ask("POST", "/jobs", { queue: queues.b, type: "same", input: "of b" })).body.id,
    };
    const [, plain] = made.a.split(":");
    expect(made).toEqual({ a: `a:${plain}`, b: `b:${plain}` });

    for (const cell of ["a", "b"] as const) {
      const { body } = await ask("GET", `/jobs/${made[cell]}`);
      expect(body.job).toMatchObject({ id: made[cell], queue: queues[cell], input: `of ${cell}`, cell });
    }
    const both = await ask("GET", "/jobs?type=same&limit=1");
    const next = await ask("GET", `/jobs?type=same&limit=1&cursor=${both.body.next}`);
    expect([...both.body.items, ...next.body.items].map(({ id }: { id: string }) => id)).toEqual([made.a, made.b]);
    expect((await ask("GET", "/jobs?type=same&cell=b")).body.items.map(({ id }: any) => id)).toEqual([made.b]);

    const { body: claimed } = await ask("POST", "/claims", { queues: [queues.a] });
    expect(claimed.items).toMatchObject([{ id: made.a, input: "of a" }]);
    const [{ token }] = claimed.items;
    const settlement = { token, jobs: [made.a], outcome: "succeeded", results: ["done in a"] };
    expect((await ask("POST", "/claims/settle", { settlements: [settlement] })).body).toEqual({ refused: [] });
    expect((await ask("GET", `/jobs/${made.a}/result`)).body).toMatchObject({
      state: "succeeded",
      result: "done in a",
    });
    expect((await ask("POST", `/jobs/${made.b}/cancel`, { because: "not needed" })).body).toEqual({ done: true });
    expect((await ask("GET", `/jobs/${made.b}/result`)).body.state).toBe("cancelled");
    expect((await ask("GET", `/jobs/${made.a}`)).body.job.state).toBe("succeeded");

    const { body: audit } = await ask("GET", "/audit?action=cancel");
    expect(audit.items[0]).toMatchObject({ object: `job ${made.b}`, cell: "b", because: "not needed" });
    const { body: decided } = await ask("GET", `/jobs/${made.b}`);
    expect(decided.decisions).toMatchObject([{ action: "cancel", jobId: made.b }]);
  });

  it("[#239] lists and counts are of all cells, each row with its cell, and of one where that is asked", async () => {
    const { ask, queueIn } = await serve();
    const queues = await Promise.all(["a", "b", "c"].map(queueIn));
    for (const [n, queue] of queues.entries())
      for (let i = 0; i <= n; i += 1) await ask("POST", "/jobs", { queue, type: "many", tenant: "sums" });
    const count = async (body: object) => (await ask("POST", "/jobs/count", body)).body;
    expect(await count({ type: "many" })).toEqual({ count: 6, isExact: true });
    expect(await count({ type: "many", cell: "c" })).toEqual({ count: 3, isExact: true });
    expect((await ask("GET", "/jobs/counts?tenant=sums")).body.ready).toBe(6);
    expect((await ask("GET", "/jobs/counts?tenant=sums&cell=b")).body.ready).toBe(2);

    const own = ({ items }: { readonly items: readonly any[] }) => items.filter(({ name }) => queues.includes(name));
    const all = own((await ask("GET", "/queues")).body);
    expect(all.map(({ name, waiting, cell }) => [name, waiting, cell])).toEqual(
      queues.map((name, n) => [name, n + 1, ["a", "b", "c"][n]]).toSorted(([a], [b]) => (a! < b! ? -1 : 1)),
    );
    expect(own((await ask("GET", "/queues?cell=b")).body).map(({ name }) => name)).toEqual([queues[1]]);
    await ask("POST", `/queues/${queues[2]}/pause`, { because: "a test" });
    expect((await ask("GET", "/pauses")).body.items).toMatchObject([{ queue: queues[2], cell: "c" }]);
    expect((await ask("GET", "/pauses?cell=a")).body.items).toEqual([]);
    expect(await ask("GET", "/pauses?cell=none")).toMatchObject({ status: 409, body: { code: "MR023" } });

    const { body: bulk } = await ask("POST", "/jobs/cancel", { filter: { type: "many", cell: "b" } });
    expect(bulk).toEqual({ count: 2, isExact: true });
    expect((await ask("POST", "/jobs/cancel", { filter: { type: "many" } })).body.count).toBe(4);
  });

  it("an application that mounts it has all cells; failures are retried in one, or in all", async () => {
    const mill = cells.open();
    const queues = [await cells.nameIn("a", mill), await cells.nameIn("c", mill)];
    for (const queue of queues) {
      await mill.queues.put(queue);
      await mill.engine.enqueue({ queue, type: "fails", maxAttempts: 1 });
      const [job] = await mill.engine.claim({ queues: [queue] });
      await mill.engine.fail(job!, { message: "broken" });
    }
    const handler = createHandler({ mill, user: () => ({ name: "ann", role: "admin" }), logger: false });
    onTestFinished(() => handler.close());
    const ask = async (method: string, path: string, body?: object): Promise<any> => {
      const request = new Request(`http://localhost/api/v1${path}`, {
        method,
        ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      return (await handler.fetch(request)).json();
    };
    expect((await ask("GET", "/session")).cells).toEqual(["a", "b", "c"]);
    const failures = async (cell = ""): Promise<number> => (await ask("GET", `/failures${cell}`)).total;
    expect([await failures(), await failures("?cell=c"), await failures("?cell=b")]).toEqual([2, 1, 0]);
    expect(await ask("POST", "/failures/retry?cell=c", { type: "fails" })).toEqual({ count: 1, isExact: true });
    expect([await failures(), await failures("?cell=c")]).toEqual([1, 0]);
    expect(await ask("POST", "/failures/retry", { type: "fails" })).toEqual({ count: 1, isExact: true });
  });

  it("rules of alerts and web hooks are set in all cells, or in one", async () => {
    const { ask } = await serve();
    const rule = { kind: "oldest", seconds: 60 };
    expect((await ask("PUT", "/alerts/rules/old", rule)).body).toEqual({ done: true });
    expect((await ask("PUT", "/alerts/rules/only-b?cell=b", rule)).body).toEqual({ done: true });
    const rules = (await ask("GET", "/alerts/rules")).body.items.filter(({ putBy }: any) => putBy !== null);
    expect(rules.map(({ name, cell }: any) => `${name} ${cell}`)).toEqual(["old a", "old b", "old c", "only-b b"]);
    expect((await ask("PUT", "/alerts/hooks/ops", { url: "https://hooks.example.com/x" })).body.secret).toBeDefined();
    const secrets = await Promise.all(
      Object.values(cells.dbs).map(async ({ engine }) => (await engine.hookGet("ops"))!.secret),
    );
    expect(new Set(secrets).size).toBe(1);
    expect((await ask("DELETE", "/alerts/rules/only-b")).body).toEqual({ done: true });
    expect((await ask("DELETE", "/alerts/rules/only-b")).body.code).toBe("MR024");
    const first = (await ask("GET", "/alerts/events?limit=3")).body;
    const second = (await ask("GET", `/alerts/events?limit=1000&cursor=${first.next}`)).body;
    const all = (await ask("GET", "/alerts/events?limit=1000")).body;
    expect([...first.items, ...second.items]).toEqual(all.items);
    expect(new Set(all.items.map(({ cell }: any) => cell))).toEqual(new Set(["a", "b", "c"]));
    await ask("DELETE", "/alerts/rules/old");
    await ask("DELETE", "/alerts/hooks/ops");
  });

  it("[#239] a cell that hangs delays a page by two seconds at most, and is named on it", async () => {
    const proxy = await startProxy(cells.urls.b);
    const { ask, server, queueIn } = await serve({ cells: { ...cells.urls, b: proxy.url } });
    const queues = { a: await queueIn("a"), b: await queueIn("b") };
    const { body: made } = await ask("POST", "/jobs", { queue: queues.a, type: "left" });
    const { body: hidden } = await ask("POST", "/jobs", { queue: queues.b, type: "left" });
    await ask("GET", "/queues");
    proxy.freeze();
    onTestFinished(() => proxy.thaw());
    for (const path of ["/jobs?type=left", "/queues", "/failures", "/running", "/overview", "/limits", "/processes"]) {
      const began = performance.now();
      const { status, body } = await ask("GET", path);
      expect([path, status, body.missing]).toMatchObject([path, 200, [{ cell: "b" }]]);
      expect(performance.now() - began, path).toBeLessThan(2000);
    }
    expect((await ask("GET", "/jobs?type=left")).body.items.map(({ id }: any) => id)).toEqual([made.id]);
    for (const path of [`/jobs/${hidden.id}`, `/queues/${queues.b}`]) {
      const refused = await ask("GET", path);
      expect(refused).toMatchObject({ status: 503, body: { code: "MR009" } });
      expect(refused.body.detail).toContain('cell "b"');
    }
    const { body: listed } = await ask("GET", "/cells");
    expect(listed.items.map(({ name, state }: any) => [name, state])).toEqual([
      ["a", "member"],
      ["b", "missing"],
      ["c", "member"],
    ]);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    // what is in other cells is done meanwhile
    expect((await ask("POST", `/jobs/${made.id}/cancel`, {})).body).toEqual({ done: true });
  });

  it("tells each cell by itself", async () => {
    const { ask, queueIn } = await serve();
    const queue = await queueIn("c");
    await ask("POST", "/jobs", { queue, type: "one" });
    expect((await ask("GET", "/session")).body.cells).toEqual(["a", "b", "c"]);
    const ready = async () => (await ask("GET", "/cells")).body.items.map(({ overview }: any) => overview?.ready);
    await until("cell c was looked at", async () => (await ready())[2] > 0);
    const { body } = await ask("GET", "/cells");
    expect(body.items).toMatchObject(
      ["a", "b", "c"].map((name) => ({ name, state: "member", schemaState: "current", moves: [], workers: 0 })),
    );
    const [a, b, c] = await ready();
    expect((await ask("GET", "/overview")).body.ready).toBe(a + b + c);
  });

  it("the doctor looks at the cells together too", async () => {
    const { ask } = await serve();
    await cells.dbs.a.sql("insert into route values ('lost', 'zz', 1)");
    onTestFinished(async () => {
      await cells.dbs.a.sql("delete from route where key = 'lost'");
    });
    const { items } = (await ask("GET", "/doctor")).body;
    const together = items.filter(({ name }: any) => name === "cells");
    expect(together).toEqual(
      expect.arrayContaining([
        { name: "cells", state: "ok", cell: "a", message: "can be used" },
        {
          name: "cells",
          state: "wrong",
          cell: "zz",
          message: 'queue "lost" is routed to it, and it is gone',
          remedy: 'name "zz" again, and move the queue out of it',
        },
      ]),
    );
    const look = together.find(({ message }: any) => message.startsWith("does not know"));
    expect(look, "what is merely to be looked at is not wrong").toMatchObject({
      state: "ok",
      remedy: "millrace cells doctor --fix",
    });
  });

  it("[#239] metrics say the cell of each series", async () => {
    const { ask, server, queueIn } = await serve();
    const queues = { a: await queueIn("a"), c: await queueIn("c") };
    for (const queue of Object.values(queues)) await ask("POST", "/jobs", { queue, type: "measured" });
    let text = "";
    const scraped = async (line: string): Promise<boolean> => {
      text = await (await fetch(`${server.url}/metrics`)).text();
      return text.includes(line);
    };
    for (const [cell, queue] of Object.entries(queues))
      await until(`${queue} is measured`, () => scraped(`millrace_queue_ready{cell="${cell}",queue="${queue}"} 1\n`));
    for (const line of text.split("\n").filter((one) => /^millrace_(queue|jobs|alerts)/.test(one)))
      expect(line).toMatch(/\{cell="[abc]",/);
    for (const cell of ["a", "b", "c"]) expect(text).toContain(`millrace_queue_ready{cell="${cell}",queue="default"} `);
  });
});

it("millrace serve takes cells from its option, or from MILLRACE_CELLS", async () => {
  const list = Object.entries(cells.urls)
    .map(([name, url]) => `${name}=${url}`)
    .join(" ");
  const named = async (args: readonly string[], env: Record<string, string>): Promise<unknown> => {
    const server = new Running(["serve", "--port", "0", "--json", "--drain-delay", "0s", ...args], { env });
    await server.until('"listening"');
    const { url } = JSON.parse(server.stdout.split("\n")[0]!) as { url: string };
    const session = (await (await fetch(`${url}/api/v1/session`)).json()) as { cells: unknown };
    server.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
    return session.cells;
  };
  expect(await named(["--cell-urls", list], {})).toEqual(["a", "b", "c"]);
  expect(await named([], { MILLRACE_CELLS: list })).toEqual(["a", "b", "c"]);
  expect(await named(["--url", cells.urls.a], { MILLRACE_CELLS: list })).toEqual([]);
  const both = await millrace(["serve", "--url", cells.urls.a, "--cell-urls", list]);
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("--url and --cell-urls exclude each other")]);
  const wrong = await millrace(["serve", "--cell-urls", "a"]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--cell-urls cannot be understood")]);
});
