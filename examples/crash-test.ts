// A crash test: run a handler with a crash after each of its steps, and see what differs from a run without.
import { type Handler, defineJob } from "millrace";
import { createTestMill } from "millrace/testing";

const order = defineJob<{ cents: number }, { receipt: string }>("order");
const outbox: string[] = [];

const careful: Handler<{ cents: number }, { receipt: string }> = async ({ input }, { step }) => {
  const receipt = await step.run("charge", () => `receipt for ${input.cents}`);
  await step.sleep("cool-off", "3d");
  await step.run("mail", () => void outbox.push(receipt));
  return { receipt };
};

const careless: typeof careful = async ({ input }, { step }) => {
  const receipt = await step.run("charge", () => `receipt for ${input.cents}`);
  outbox.push(receipt); // not in a step: it is done again whenever the handler is called again
  await step.run("note", () => "done");
  return { receipt };
};

const url = process.env["DATABASE_URL"]; // without one, a PostgreSQL is started for this test
const test = await createTestMill({ schema: "crash_test", ...(url === undefined ? {} : { url }) });
for (const handler of [careful, careless]) {
  const { steps, differences } = await test.runWithCrashes(order, { cents: 995 }, handler, {
    before: () => void outbox.splice(0),
    effects: () => outbox.length,
  });
  console.log(steps, differences);
}
await test.close();
