import { type Role, roles } from "../../server/auth/roles.js";
import { makeToken } from "../../server/auth/tokens.js";
import type { Command } from "../command.js";

export const tokensNewCommand: Command = {
  name: "tokens new",
  summary: "make a token for `millrace serve`, and the line to store",
  details: [
    "The token is shown once and stored nowhere. Put the line, which has only its hash, into the file of `millrace serve --tokens`, or into `MILLRACE_TOKENS`. " +
      "A reader looks; a producer enqueues and cancels too; a worker claims too; an admin may do everything.",
  ],
  arguments: [{ name: "NAME", help: "who it is for: shown in the audit" }],
  options: { role: { value: "ROLE", help: "what it may do", choices: roles, default: "reader" } },
  examples: ["millrace tokens new ann --role admin", "millrace tokens new grafana --json | jq -r .line >> tokens.txt"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    const { token, line } = makeToken(name, options.text("role") as Role);
    out.result({ token, line }, [
      `token  ${token}`,
      `line   ${line}`,
      "",
      "The token is not shown again. Put the line into the file of `millrace serve --tokens`.",
    ]);
    return 0;
  },
};
