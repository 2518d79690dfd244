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

// on an embedded PostgreSQL where there is no DATABASE_URL
const test = await createTestMill({ url: process.env["DATABASE_URL"] });
for (const handler of [careful, careless]) {
  const { steps, differences } = await test.runWithCrashes(order, { cents: 995 }, handler, {
    before: () => void outbox.splice(0),
    effects: () => outbox.length,
  });
  console.log(steps, differences);
}
await test.close();
