import { createRequire, register } from "node:module";
import { UsageError } from "./usage-error.js";

/** What makes JavaScript of TypeScript, and where the project has it. */
export interface Transformer {
  readonly kind: "esbuild" | "typescript";
  readonly path: string;
}

export const isTypeScript = (file: string): boolean => /\.[mc]?ts$/.test(file);

let isReady = false;

/**
 * Let TypeScript be imported: with what the project has, esbuild or the compiler, which know all of the language and
 * find `./other.js` where it is `other.ts`; else by Node, which from 22.18 on takes types away.
 */
export function allowTypeScript(file: string): void {
  if (isReady) return;
  const data = transformerOf(file);
  if (data) {
    register("./typescript-hooks.js", { parentURL: import.meta.url, data });
    isReady = true;
  } else if (!(process.features as { typescript?: unknown }).typescript) {
    throw new UsageError(
      `${file} is TypeScript, which Node ${process.versions.node} does not run by itself`,
      "npm install --save-dev esbuild, or use Node 22.18 or newer",
    );
  }
}

function transformerOf(file: string): Transformer | undefined {
  const project = createRequire(file);
  for (const kind of ["esbuild", "typescript"] as const) {
    try {
      const path = project.resolve(kind);
      // the compiler from version 7 on has no such function
      if (kind === "esbuild" || typeof (project(kind) as { transpileModule?: unknown }).transpileModule === "function")
        return { kind, path };
    } catch {
      // the project does not have it
    }
  }
  return undefined;
}
