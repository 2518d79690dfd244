// A handler made of steps, for its own thread or process; what it does is in its input.
export default async function handler(job, { step, log, signal }) {
  const { act, queue } = job.input;
  const calls = [];
  const deed = (name, value) =>
    step.run(name, ({ key, attempt, signal }) => {
      log(`did ${name}`);
      return { value, key, sameKey: step.key === key, attempt, isAborted: signal.aborted };
    });
  if (act === "all") {
    const first = await deed("first", 1);
    await step.sleep("nap", "10ms");
    const both = await Promise.all([deed("left", 2), deed("right", 3)]);
    const token = await step.token("told", { expires: "1h" });
    const told = await step.waitFor("told", { schema: even, timeout: "1m" });
    const late = await step.waitFor(["never", "ever"], { timeout: "10ms" });
    const child = {
      type: "child",
      version: 2,
      defaults: { queue, maxAttempts: 1 },
      checkInput: async (input) => checkNumber(input),
    };
    const one = await step.call("one", child, 4);
    const many = await step.map("many", "child", [5, 6], { queue });
    const settled = await step.mapSettled("settled", child, [7, -1]);
    const outcomes = settled.map(({ status, reason }) => [status, reason?.name ?? null, reason?.code ?? null]);
    const free = typeof (await step.start("free", child, 8));
    return { first, both, tokenIs: token.slice(0, 4), told, late, one, many, outcomes, free };
  }
  if (act === "race") {
    // a wait that is begun first, and steps that follow each other: the run is not suspended for the first between them
    const nap = step.sleep("nap", "1h");
    const steps = async () => {
      for (let n = 0; n < 10; n += 1) await Promise.resolve();
      for (let n = 0; n < 3; n += 1) await deed("quick", n);
      return deed("last", 1);
    };
    return Promise.race([nap, steps()]);
  }
  if (act === "late") {
    // suspended, and yet it goes on by itself: what it returns then is nobody's
    return Promise.race([step.sleep("nap", "1s"), new Promise((resolve) => setTimeout(resolve, 50, "not mine"))]);
  }
  if (act === "obey" || act === "resist") {
    await step.run("before", () => 1);
    const stopped = () =>
      new Promise((_, reject) => {
        const obey = () => act === "obey" && reject(new Error("told to stop", { cause: signal.reason }));
        if (signal.aborted) obey();
        else signal.addEventListener("abort", obey);
      });
    return step.run("long", stopped, { maxAttempts: 2 });
  }
  if (act === "calls") {
    for (let n = 0; n < 30; n += 1) {
      await step.run("work", () => new Promise((resolve) => setTimeout(resolve, 200)));
      await step.sleep("nap", "1ms");
    }
  }
  if (act === "retry") {
    const failed = await step
      .run("flaky", ({ attempt }) => Promise.reject(new Error(`try ${attempt}`)), { maxAttempts: 3, retryDelay: "5ms" })
      .catch(({ name, code, step: of, attempts, cause }) => ({ name, code, of, attempts, cause: cause.message }));
    return { failed };
  }
  if (act === "refused") {
    const told = async (work) => {
      try {
        return await work();
      } catch ({ code, message }) {
        return [typeof code === "string" ? code : null, message];
      }
    };
    calls.push(await told(() => step.transaction("tx", {}, () => 1)));
    calls.push(await told(() => step.run("undone", () => 1, { undo: () => {} })));
    calls.push(await told(() => step.run("a#b", () => 1)));
    calls.push(await told(() => step.run("fn", () => () => 1)));
    calls.push(await told(() => step.sleep("fn", () => 1)));
    calls.push(
      await told(() => step.call("child", { type: "child", version: 1, defaults: {}, checkInput: checkNumber }, "x")),
    );
    calls.push(await told(async () => step.key));
    calls.push(await told(() => step.run("outer", () => step.sleep("inner", "1h"))));
    return calls;
  }
  return act;
}

function checkNumber(input) {
  if (typeof input !== "number") throw Object.assign(new Error("not a number"), { code: "E_NUMBER" });
}

const even = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => (value % 2 === 0 ? { value } : { issues: [{ message: "odd" }] }),
  },
};
