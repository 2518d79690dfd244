// Runs in the thread in which Node loads modules (`module.register`): makes JavaScript of TypeScript.
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import type { LoadHook, ResolveHook } from "node:module";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type Transformer, isTypeScript } from "./typescript.js";

type Transform = (source: string, file: string) => string;

let transform: Transform = (source) => source;

export function initialize(given: Transformer): void {
  if (given.kind === "node") transform = byNode;
  else {
    const found: unknown = createRequire(given.path)(given.path);
    transform = given.kind === "esbuild" ? byEsbuild(found as Esbuild) : byCompiler(found as Compiler);
  }
}

/** Enums and the like are not only taken away: that is asked for first, where Node can do it. */
const byNode: Transform = (source, sourceUrl) => {
  const { stripTypeScriptTypes } = nodeModule as unknown as {
    readonly stripTypeScriptTypes: (source: string, options: object) => string;
  };
  try {
    return stripTypeScriptTypes(source, { mode: "transform", sourceUrl });
  } catch {
    return stripTypeScriptTypes(source, { mode: "strip", sourceUrl });
  }
};

interface Esbuild {
  transformSync(source: string, options: object): { code: string };
}

const byEsbuild =
  (esbuild: Esbuild): Transform =>
  (source, sourcefile) =>
    esbuild.transformSync(source, {
      loader: "ts",
      format: "esm",
      target: `node${process.versions.node}`,
      sourcemap: "inline",
      sourcefile,
    }).code;

interface Compiler {
  transpileModule(source: string, options: object): { outputText: string };
}

const byCompiler =
  (compiler: Compiler): Transform =>
  (source, fileName) =>
    compiler.transpileModule(source, {
      fileName,
      compilerOptions: { module: 99, target: 9, inlineSourceMap: true, inlineSources: true }, // ESNext, ES2022
    }).outputText;

/** `./other.js` and `./other` may be other.ts. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (!/^\.{1,2}\//.test(specifier) || !context.parentURL || !isTypeScript(context.parentURL)) throw error;
    for (const other of [specifier.replace(/\.([mc]?)js$/, ".$1ts"), `${specifier}.ts`, `${specifier}/index.ts`]) {
      const found = await Promise.resolve(next(other, context)).catch(() => undefined);
      if (found) return found;
    }
    throw error;
  }
};

export const load: LoadHook = async (url, context, next) => {
  if (!url.startsWith("file:") || !isTypeScript(url) || url.includes("/node_modules/")) return next(url, context);
  const file = fileURLToPath(url);
  return { format: "module", source: transform(readFileSync(file, "utf8"), file), shortCircuit: true };
};
