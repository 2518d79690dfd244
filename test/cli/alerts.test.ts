import { expect, it } from "vitest";
import type { AlertEvent, AlertRecord, AlertRuleRecord, HookRecord } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { millrace } from "./cli.js";

const db = useDatabase();
const cli = (...args: string[]) => millrace(args, { url: db.url });
const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await cli(...args, "--json")).stdout) as T;

it("rules are made, fire, are silenced and removed on the command line, and the exit code tells", async () => {
  expect(await cli("alerts")).toMatchObject({ code: 0, stdout: "no alert fires\n" });
  expect(await cli("alerts", "hooks")).toMatchObject({ code: 0, stdout: "there is no web hook\n" });
  const made = await cli("alerts", "hook-put", "ops", "https://hooks.example.com/secret-path");
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ops is set; its secret, .*\nwhsec_\S+\n$/) });
  const again = await cli("alerts", "hook-put", "ops", "https://hooks.example.com/secret-path");
  expect(again.stdout, "it keeps its secret").toBe("ops is set\n");
  const rule = '{"kind": "size", "bytes": 1, "forSeconds": 0, "hooks": ["ops"]}';
  expect(await cli("alerts", "put", "large", rule)).toMatchObject({ code: 0, stdout: "large is set\n" });
  expect((await json<AlertRuleRecord[]>("alerts", "rules")).find(({ name }) => name === "large")).toMatchObject({
    kind: "size",
    options: { bytes: 1 },
    forSeconds: 0,
    hooks: ["ops"],
    on: true,
    putBy: expect.any(String),
  });
  expect((await cli("alerts", "rules")).stdout).toMatch(/^large +size +on +0 s +ops +bytes 1/m);

  await db.engine.alertsCheck();
  const firing = await cli("alerts");
  expect(firing).toMatchObject({ code: 1, stdout: expect.stringMatching(/^large +disk +firing .*the tables have/m) });
  const silenced = await cli("alerts", "silence", "large", "2h", "--because", "known");
  expect(silenced).toMatchObject({ code: 0, stdout: "large is silent for 2h\n" });
  expect(await cli("alerts"), "what is silenced is no error").toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^large +disk +firing, silenced /m),
  });
  expect((await json<AlertRecord[]>("alerts")).find(({ rule: of }) => of === "large")).toMatchObject({
    state: "firing",
    silenced: true,
  });
  expect((await cli("alerts", "silence", "large", "0")).stdout).toBe("large is silent no more\n");
  expect((await cli("alerts")).code).toBe(1);

  const tested = await json<{ job: string }>("alerts", "hook-test", "ops");
  expect((await db.engine.get(tested.job))!.job).toMatchObject({ queue: "millrace.alerts", state: "ready" });
  const [hook] = await json<HookRecord[]>("alerts", "hooks");
  expect(hook).toMatchObject({ name: "ops", origin: "https://hooks.example.com", rules: ["large"] });
  expect((await cli("alerts", "hook-remove", "ops")).stdout).toBe("ops is removed\n");
  expect((await cli("alerts", "remove", "large")).stdout).toBe("large is removed\n");
  expect((await cli("alerts")).stdout).not.toContain("large");

  const events = await json<AlertEvent[]>("alerts", "events", "--limit", "100");
  const told = events.map(({ event, rule: of }) => `${event} ${of}`);
  for (const one of ["put large", "fired large", "silenced large", "removed large"]) expect(told).toContain(one);
  expect((await cli("alerts", "events")).stdout).not.toContain("secret-path");
});

it("what cannot be is refused with the remedy", async () => {
  for (const [args, words] of [
    [["put", "x", "[]"], "RULE is not a JSON object"],
    [["put", "x", '{"kind": "moon"}'], "a rule cannot have the kind moon"],
    [["silence", "nowhere", "1h"], 'there is no rule "nowhere"'],
    [["silence", "disk-size", "soon"], 'DURATION cannot be "soon"'],
    [["remove", "nowhere"], 'there is no rule "nowhere"'],
    [["hook-test", "nowhere"], "nowhere"],
    [["hook-put", "ops", "ftp://example.com"], "this address cannot be a web hook"],
  ] as const) {
    const { code, stdout, stderr } = await cli("alerts", ...args);
    expect({ code, stdout }, args.join(" ")).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(words);
  }
});
