import { PrismaPg } from "@prisma/adapter-pg";
import { getPrismaClient } from "@prisma/client/runtime/client";

export interface PrismaTransaction {
  $executeRawUnsafe(statement: string): Promise<number>;
  $queryRawUnsafe(statement: string, ...values: unknown[]): Promise<unknown>;
  $transaction<T>(work: (tx: PrismaTransaction) => Promise<T>): Promise<T>;
}

export interface PrismaDatabase extends PrismaTransaction {
  $connect(): Promise<void>;
  $disconnect(): Promise<void>;
}

const compiler = "@prisma/client/runtime/query_compiler_fast_bg.postgresql";
const { WebAssembly } = globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => object } };

/**
 * The class that `prisma generate` 7.10.0 writes for a schema without models, on Prisma's own runtime and compiler. The
 * command itself
 * is not used: before it does anything it downloads an engine, which it then does not need, from outside npm.
 */
const PrismaClient = getPrismaClient({
  previewFeatures: [],
  clientVersion: "7.10.0",
  engineVersion: "0edf323efd1d98336f3f0a68684b56f689b900d3",
  activeProvider: "postgresql",
  inlineSchema:
    'generator client {\n  provider = "prisma-client"\n  output   = "./generated"\n}\n\ndatasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: "AAAA" },
  compilerWasm: {
    getRuntime: () => import(`${compiler}.mjs`),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = (await import(`${compiler}.wasm-base64.mjs`)) as { wasm: string };
      return new WebAssembly.Module(Buffer.from(wasm, "base64"));
    },
    importName: "./query_compiler_fast_bg.js",
  },
});

export function openPrisma(url: string): PrismaDatabase {
  return new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 4 }) }) as unknown as PrismaDatabase;
}
