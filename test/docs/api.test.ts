import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openApi } from "../../src/server/api/openapi.js";
import { routes } from "../../src/server/api/routes/index.js";
import { version } from "../../src/server/version.js";

const file = (name: string) => new URL(`../../docs/${name}`, import.meta.url);
const mark = "<!-- made by UPDATE_API_DOCS=1 npx vitest run test/docs/api.test.ts -->\n";
const mustWrite = process.env["UPDATE_API_DOCS"] === "1";

function compare(name: string, text: string): void {
  if (mustWrite) writeFileSync(file(name), text);
  expect(
    readFileSync(file(name), "utf8") === text,
    `docs/${name} is stale: UPDATE_API_DOCS=1 npx vitest run test/docs/api.test.ts`,
  ).toBe(true);
}

describe("docs of the API are made from its table of routes", () => {
  it("docs/api.md", () => {
    const [intro] = readFileSync(file("api.md"), "utf8").split(mark);
    const rows = routes.map(({ method, path, role, summary }) => `| ${method} | \`${path}\` | ${role} | ${summary} |`);
    compare("api.md", `${intro}${mark}\n| method | path | role | what |\n|---|---|---|---|\n${rows.join("\n")}\n`);
  });

  it("docs/openapi.json", () => compare("openapi.json", `${JSON.stringify(openApi(routes, version()), null, 2)}\n`));
});
