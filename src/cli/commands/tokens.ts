import type { Command } from "../command.js";
import { textTable } from "../text-table.js";
import { tokensOf } from "../tokens-file.js";
import { UsageError } from "../usage-error.js";

export const tokensCommand: Command = {
  name: "tokens",
  summary: "list the tokens of `millrace serve`: whom they are for, and what they may do",
  details: ["Also a check that the file can be read as it is, before the server is told to."],
  arguments: [],
  options: { tokens: { value: "FILE", help: "where they are (default: MILLRACE_TOKENS)", isFile: true } },
  examples: ["millrace tokens --tokens tokens.txt"],
  async run({ options, out }) {
    const entries = tokensOf(options);
    if (!entries) throw new UsageError("no tokens given", "pass --tokens, or set MILLRACE_TOKENS");
    const [titles, ...lines] = textTable(
      [{ title: "NAME" }, { title: "ROLE" }],
      entries.map(({ name, role }) => [name, role]),
      out.width,
    );
    out.result(
      entries.map(({ name, role }) => ({ name, role })),
      [out.style("bold", titles!), ...lines],
    );
    return 0;
  },
};
