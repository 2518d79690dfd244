import * as nodeModule from "node:module";
import { createRequire, register } from "node:module";
import { UsageError } from "./usage-error.js";

/** What makes JavaScript of TypeScript, and where the project has it. */
export type Transformer =
  | { readonly kind: "esbuild" | "typescript"; readonly path: string }
  | { readonly kind: "node" };

export const isTypeScript = (file: string): boolean => /\.[mc]?ts$/.test(file);

let isReady = false;

/**
 * Let TypeScript be imported, whatever the type of the project: with its esbuild or its compiler, else with what Node
 * has for it from 22.13 on.
 */
export function allowTypeScript(file: string): void {
  if (isReady) return;
  const data = transformerOf(file);
  if (!data)
    throw new UsageError(
      `${file} is TypeScript, which Node ${process.versions.node} does not run by itself`,
      "npm install --save-dev esbuild, or use Node 22.13 or newer",
    );
  register("./typescript-hooks.js", { parentURL: import.meta.url, data });
  isReady = true;
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
  return "stripTypeScriptTypes" in nodeModule ? { kind: "node" } : undefined;
}
