import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { markdown } from "./markdown.js";
import { commandGroups } from "./table.js";

it("docs/cli.md lists every command and option, as the table has them", () => {
  const file = new URL("../../docs/cli.md", import.meta.url);
  if (process.env["UPDATE_CLI_DOCS"]) writeFileSync(file, markdown(commandGroups));
  expect(readFileSync(file, "utf8")).toBe(markdown(commandGroups));
});
