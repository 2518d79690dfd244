import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import * as nodeModule from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { Running, useFolder } from "./cli.js";

const canNode = "stripTypeScriptTypes" in nodeModule;
const db = useDatabase();
const folder = useFolder();
const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));

const files = {
  "jobs.ts": `
    import { Size, describe } from "./size.js"; // size.ts, as the compiler wants it written
    import type { Unit } from "./size";
    const unit: Unit = "px";
    const handlers: [string, (job: { input: { width: number } }) => unknown][] = [
      ["resize", (job) => { console.log(describe(job.input.width as number, unit), Size.Large); }],
      ["broken", () => { throw new Error("not an image"); }],
    ];
    export default handlers;`,
  "size.ts": `
    export type Unit = "px" | "em";
    export enum Size { Small = 1, Large } // not in JavaScript, so that types cannot just be taken away
    export function describe(width: number, unit: Unit): string { return \`resizing to \${width}\${unit}\`; }`,
  "package.json": '{ "type": "commonjs" }',
};

/** A project with these files, and a package that is here under another name or place. */
function project(name: string, packages: Readonly<Record<string, string>>): string {
  const place = path.join(folder.path, name);
  mkdirSync(path.join(place, "node_modules"), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(place, file), text);
  for (const [as, found] of Object.entries(packages))
    symlinkSync(path.join(modules, found), path.join(place, "node_modules", as));
  return path.join(place, "jobs.ts");
}

describe("handlers in TypeScript need no flags", () => {
  it.each([
    ["esbuild", { esbuild: "esbuild" }],
    // this repository's own compiler, version 7, has no function for it
    ["the compiler", { typescript: "@arethetypeswrong/core/node_modules/typescript" }],
    ...(canNode ? [["neither, and Node can", {}] as [string, Record<string, string>]] : []),
  ])("where the project has %s", async (name, packages) => {
    const queue = await newQueue(db);
    const file = project(name.replaceAll(/\W+/g, "-"), packages);
    await db.engine.enqueue({ type: "resize", queue, input: { width: 7 } });
    await db.engine.enqueue({ type: "broken", queue, maxAttempts: 1 });
    const worker = new Running(["work", file, "--queues", queue], { url: db.url });
    await worker.until("resizing to 7px 2");
    await worker.until("not an image");
    worker.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);
  });

  it.skipIf(canNode)("where Node cannot, and the project has neither, it is said what to do", async () => {
    const file = project("neither", {});
    const { code, stderr } = await new Running(["work", file], { url: db.url }).ended;
    expect(code).toBe(2);
    expect(stderr).toContain("npm install --save-dev esbuild, or use Node 22.13 or newer");
  });
});
