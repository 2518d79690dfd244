import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("for readers who know other engines", () => {
  const page = read("docs/neighbours.md");

  it("there is a page, found from the README, that says what this queue does not do and how tenants share it [#111]", () => {
    expect(read("README.md")).toContain("(docs/neighbours.md)");
    expect(read("docs/fairness.md")).toContain("(neighbours.md)");
    expect(page).toMatch(/^# .*Temporal.*Hatchet/);
    expect(page.split("## What this queue does not do")[1]!.split("\n## ")[0]).toMatch(/durable workflow replay/i);
    const fairness = page.split("## Fairness per tenant")[1]!;
    for (const word of ["Temporal", "Hatchet", "`group`", "groupPut", "groupMaxRunning", "ordered", "(fairness.md)"])
      expect(fairness).toContain(word);
  });

  it("has their words and ours, of which each is in the reference [#217]", () => {
    const [words] = page.split("## Their words and ours")[1]!.split("\n## ");
    for (const word of [
      "workflow",
      "activity",
      "event",
      "signal",
      "step.run",
      "step.waitForEvent",
      "child workflow",
      "saga",
    ])
      expect(words).toContain(word);
    const ours = [...words!.matchAll(/^\| .* \| (.*) \|$/gm)].slice(1).map(([, cell]) => cell!);
    const names = ours.flatMap((cell) =>
      [...cell.matchAll(/`(?:(?:step|mill|job)\.)?(\w+)[^`]*`/g)].map(([, name]) => name!),
    );
    expect(names.length).toBeGreaterThan(15);
    const known = read("docs/reference.md") + read("docs/cli.md") + read("docs/observability.md");
    for (const name of names) expect(known, name).toMatch(new RegExp(`\\b${name}\\b`));
  });
});
