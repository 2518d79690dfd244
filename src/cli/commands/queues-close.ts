import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const queuesCloseCommand: Command = {
  name: "queues close",
  summary: "accept no more jobs in a queue; it finishes when its last job has ended",
  details: [
    "Waiting and running jobs go on. Queues that wait for it go on when it is finished. Your user name is noted.",
  ],
  arguments: [{ name: "NAME", help: "the queue" }],
  options: { because: { value: "TEXT", help: "why; shown with the queue" }, ...databaseOptions },
  examples: ['millrace queues close import-7 --because "all files are in"'],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      await engine.queueClose(name, { by: userName(), ...options.pick("because") });
      out.result({ name, state: "closed" }, `${name} is closed`);
      return 0;
    });
  },
};
