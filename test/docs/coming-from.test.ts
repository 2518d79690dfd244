import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("for readers who come from another queue", () => {
  const page = read("docs/coming-from.md");
  const known = ["reference", "cli", "options", "observability"].map((name) => read(`docs/${name}.md`)).join("\n");

  it.each(["pg-boss", "BullMQ", "graphile-worker", "Amazon SQS"])(
    "there is a table for %s, of whose right side each name exists",
    (peer) => {
      const table = page.split(`\n## ${peer}\n`)[1]!.split("\n## ")[0]!;
      const ours = [...table.matchAll(/^\| .* \| (.*) \|$/gm)].slice(1).map(([, cell]) => cell!);
      expect(ours.length).toBeGreaterThan(15);
      const names = ours.flatMap((cell) =>
        [...cell.matchAll(/`(?:return )?(?:mill\.(?:queues|jobs)\.|\w+\.)?(\w+)[^`]*`/g)].map(([, name]) => name!),
      );
      expect(names.length).toBeGreaterThan(15);
      for (const name of names) expect(known, name).toMatch(new RegExp(`\\b${name}\\b`));
    },
  );

  it("is found from the README and from the other such page", () => {
    expect(read("README.md")).toContain("(docs/coming-from.md)");
    expect(read("docs/neighbours.md")).toContain("(coming-from.md)");
  });
});
