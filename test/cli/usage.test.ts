import { describe, expect, it } from "vitest";
import { version } from "../../src/server/version.js";
import { millrace } from "./cli.js";

describe("usage", () => {
  it("explains itself, and each command with examples", async () => {
    const [nothing, all, one, other, number] = await Promise.all([
      millrace([]),
      millrace(["--help"]),
      millrace(["jobs", "show", "-h"]),
      millrace(["help", "enqueue"]),
      millrace(["--version"]),
    ]);
    expect(nothing).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("\nStart\n") });
    expect(all).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("jobs cancel") });
    expect(all.stdout).toContain("Exit codes");
    expect(one).toMatchObject({ code: 0, stdout: expect.stringContaining("millrace jobs show ID [options]") });
    expect(one.stdout).toContain("Examples\n  millrace jobs show");
    expect(other.stdout).toContain("--fingerprint TEXT");
    expect(number).toEqual({ code: 0, stdout: `${version()}\n`, stderr: "" });
  });

  it("names the nearest command and option, and ends with 2", async () => {
    const [command, below, option, far] = await Promise.all([
      millrace(["mirgate"]),
      millrace(["jobs", "shwo", "1"]),
      millrace(["enqueue", "resize", "--quue", "mail"]),
      millrace(["wxyz"]),
    ]);
    expect(command).toMatchObject({
      code: 2,
      stderr: 'millrace: there is no command "mirgate" (did you mean "millrace migrate"?)\n',
    });
    expect(below).toMatchObject({
      code: 2,
      stderr: 'millrace: there is no command "jobs shwo" (did you mean "millrace jobs show"?)\n',
    });
    expect(option).toMatchObject({ code: 2, stderr: "millrace: there is no option --quue (did you mean --queue?)\n" });
    expect(far).toMatchObject({ code: 2, stderr: 'millrace: there is no command "wxyz" (see "millrace --help")\n' });
  });

  it("tells errors as JSON when asked", async () => {
    const [usage, database, help] = await Promise.all([
      millrace(["jobs", "--limit", "0", "--json"]),
      millrace(["jobs", "--json"]),
      millrace(["top", "--help", "--json"]),
    ]);
    expect(usage).toMatchObject({ code: 2, stdout: "" });
    expect(JSON.parse(usage.stderr)).toEqual({
      error: {
        code: "MR001",
        message: expect.stringContaining('--limit cannot be "0"'),
        remedy: "give a whole number from 1 to 10,000",
      },
    });
    expect(JSON.parse(database.stderr)).toMatchObject({
      error: { message: expect.stringContaining("no database given") },
    });
    expect(JSON.parse(help.stdout)).toMatchObject({ name: "top", options: { schema: { default: "millrace" } } });
  });

  it("never prints a password", async () => {
    const urls = [
      "postgres://ann:s3cret@127.0.0.1:1/app",
      "postgres://ann:s3cret@nowhere.invalid/app",
      "postgres://ann:s3cret@:/:app",
      "postgres://127.0.0.1:1/app?user=ann&password=s3cret",
    ];
    const all = await Promise.all([
      ...urls.map((url) => millrace(["jobs"], { url })),
      ...urls.map((url) => millrace(["doctor", "--url", url])),
      millrace(["jobs", "--json"], { url: urls[0] }),
      millrace(["enqueue", "postgres://ann:s3cret@host/app", "{", "--url", "x"]),
    ]);
    for (const { code, stdout, stderr } of all) {
      expect(code).not.toBe(0);
      expect(stdout + stderr).not.toContain("s3cret");
    }
    expect(all[0].stderr).toContain("the database is not available");
    expect(all[0].code).toBe(2);
    expect(all[4]).toMatchObject({ code: 1, stdout: expect.stringContaining("postgres://ann@127.0.0.1:1/app") });
  });
});
