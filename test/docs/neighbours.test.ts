import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("for readers who know Temporal or Hatchet", () => {
  const page = read("docs/neighbours.md");

  it("there is a page, found from the README, that says what this queue does not do and how tenants share it [#111]", () => {
    expect(read("README.md")).toContain("(docs/neighbours.md)");
    expect(read("docs/fairness.md")).toContain("(neighbours.md)");
    expect(page).toMatch(/^# .*Temporal.*Hatchet/);
    expect(page.split("## What this queue does not do")[1]!.split("\n## ")[0]).toMatch(/durable workflow replay/i);
    const fairness = page.split("## Fairness per tenant")[1]!;
    for (const word of ["Temporal", "Hatchet", "`group`", "setGroup", "groupMaxRunning", "ordered", "(fairness.md)"])
      expect(fairness).toContain(word);
  });
});
