import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Installed, installPackage, root } from "./installed.js";

const source = `
import { Millrace, Worker, defineJob, startEmbeddedServer } from "millrace";
import { type IncomingMessage, createServer } from "node:http";
import { type QueueHandler, createHandler } from "millrace/server";
import { JobHandler, MillraceModule } from "millrace/nestjs";
import { createTestMill } from "millrace/testing";

const welcome = defineJob<{ email: string }>("welcome");
export class Jobs {
  @JobHandler(welcome)
  send(job: { readonly input: { readonly email: string } }): void {
    job.input.email.trim();
  }

  // @ts-expect-error: the input of the job is another
  @JobHandler(welcome)
  wrong(job: { readonly input: { readonly email: number } }): void {
    job.input.email.toFixed();
  }
}
export const module = MillraceModule.forRoot({ worker: { concurrency: 2 } });

export async function use(): Promise<number> {
  await using mill = new Millrace({ connection: { connectionString: "postgres://localhost", max: 2 } });
  const resize = defineJob<{ key: string }, { width: number }>("resize");
  const worker: Worker = mill.worker({ concurrency: 2 }).handle(resize, (job) => ({ width: job.input.key.length }));
  worker.on("failure", () => {});
  // @ts-expect-error: the types are there, and refuse
  await mill.enqueue(resize, { key: 1 });
  const admin: QueueHandler<IncomingMessage> = createHandler({
    mill,
    user: (request: IncomingMessage) => (request.headers.cookie ? { name: "ann", role: "reader" } : null),
  });
  createServer(admin.node);
  createServer((request, response) => void admin.node(request, response, { user: { name: "ann", role: "admin" } }));
  const either = createHandler({ mill, basePath: "/queue" });
  const answer: Response = await either.fetch(new Request("https://example.com/queue"), { user: null });
  // @ts-expect-error: there is no such role
  await either.fetch(new Request("https://example.com/queue"), { user: { name: "ann", role: "king" } });
  await using test = await createTestMill();
  await test.pool.query("select 1");
  return (await startEmbeddedServer()).port + answer.status;
}
`;

let installed: Installed;
beforeAll(() => {
  installed = installPackage();
  installed.write("use.ts", source);
  mkdirSync(path.join(installed.folder, "commonjs"));
  installed.write("commonjs/use.ts", source);
  installed.write("commonjs/package.json", "{}");
});
afterAll(() => installed.remove());

describe("the package's types, seen from a project that has nothing else", () => {
  it.each([
    ["node16", "node16"],
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("hold with skipLibCheck: false, module %s, resolution %s", (module, moduleResolution) => {
    expect(compile(".", module, moduleResolution)).toBe("");
  });
});

describe('the package\'s types, seen from a project without "type": "module"', () => {
  it.each([
    ["nodenext", "nodenext"],
    ["node20", "node16"],
    ["commonjs", "bundler"],
  ])("hold with skipLibCheck: false, module %s, resolution %s", (module, moduleResolution) => {
    expect(compile("commonjs", module, moduleResolution)).toBe("");
  });

  it.each(["node16", "node18"])("are refused with module %s, which knows no require of ESM", (module) => {
    expect(compile("commonjs", module, "node16")).toContain("TS1479");
  });
});

/** What the compiler says of a project in a folder of this one. */
function compile(folder: string, module: string, moduleResolution: string): string {
  const options = { target: "es2022", strict: true, noEmit: true, skipLibCheck: false, experimentalDecorators: true };
  const config = { compilerOptions: { module, moduleResolution, ...options }, files: ["use.ts"] };
  const file = installed.write(path.join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = path.join(root, "node_modules/.bin/tsc");
  const { status, stdout } = spawnSync(tsc, ["-p", file], { encoding: "utf8" });
  expect(status === 0).toBe(stdout === "");
  return stdout;
}

describe("the tarball", () => {
  it("has no problem that publint knows", () => {
    const said = tool("publint", ["run", installed.tarball, "--strict"]);
    expect(said).toContain("All good!");
  });

  it("has no problem that attw knows; CommonJS requires it as ESM", () => {
    const said = tool("attw", [installed.tarball, "--profile", "esm-only", "--format", "json"]);
    const { problems } = JSON.parse(said) as { problems: Record<string, { kind: string; resolutionKind: string }[]> };
    const found = Object.values(problems).flat();
    const others = found.filter(
      ({ kind, resolutionKind }) => resolutionKind !== "node10" && kind !== "CJSResolvesToESM", // Node can require it
    );
    expect(others).toEqual([]);
  });
});

function tool(name: string, args: string[]): string {
  return execFileSync(path.join(root, "node_modules/.bin", name), args, { encoding: "utf8", cwd: installed.folder });
}
