import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { serveCommand } from "../../src/cli/commands/serve.js";

const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

it("the Grafana dashboard asks only for metrics that are documented", () => {
  const documented = new Set(
    [...read("docs/observability.md").matchAll(/^\| `(millrace_\w+)`/gm)].map(([, name]) => name!),
  );
  const { panels } = JSON.parse(read("deploy/grafana.json")) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  const asked = panels.flatMap(({ targets }) =>
    targets.flatMap(({ expr }) =>
      [...expr.matchAll(/millrace_\w+/g)].map(([name]) => name.replace(/_(bucket|count|sum)$/, "")),
    ),
  );
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.filter((name) => !documented.has(name))).toEqual([]);
});

it("the unit, the manifest and the image start the server with options it has", () => {
  const starts = [
    /^ExecStart=.*millrace serve (.*)$/m.exec(read("deploy/millrace.service"))![1]!,
    /args: \[serve, (.*)\]/.exec(read("deploy/kubernetes.yaml"))![1]!,
    /CMD \["serve", (.*)\]/.exec(read("deploy/Containerfile"))![1]!,
  ];
  const given = starts.flatMap((text) => [...text.matchAll(/--([\w-]+)/g)].map(([, name]) => name!));
  expect(given.length).toBeGreaterThanOrEqual(5);
  expect(given.filter((name) => !(name in serveCommand.options))).toEqual([]);
});
