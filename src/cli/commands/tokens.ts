import type { Command } from "../command.js";
import { textTable } from "../text-table.js";
import { tokensOf } from "../tokens-file.js";
import { UsageError } from "../usage-error.js";

export const tokensCommand: Command = {
  name: "tokens",
  summary: "list tokens with their owner and role",
  details: ["Also checks the file, before you make the server read it again."],
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
