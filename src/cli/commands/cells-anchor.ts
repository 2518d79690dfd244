import { makeAnchor } from "../../cells/anchor.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";

export const cellsAnchorCommand: Command = {
  name: "cells anchor",
  summary: "on Citus: create the table that places calls with `near` on a tenant's node",
  details: [
    'Makes the table `here` with one row in a distributed schema, through the coordinator that the URL names. `mill.enqueue(job, input, { tx, near: "SCHEMA.here" })` then enqueues on the node where the tenant lives, in the transaction of its rows. Safe to run twice.',
  ],
  arguments: [{ name: "SCHEMA", help: "the schema of the tenant, distributed by Citus" }],
  options: databaseOptions,
  examples: ["millrace cells anchor tenant_1 --url postgres://coordinator/app"],
  async run({ args, options, out }) {
    const [schema] = args as [string];
    return withDatabase(options, async ({ pool }) => {
      const near = await makeAnchor(pool, schema);
      out.result({ anchor: near }, `${near} is an anchor: enqueue with { tx, near: "${near}" }`);
      return 0;
    });
  },
};
