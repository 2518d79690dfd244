import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

export default defineConfig({
  resolve: {
    alias: {
      "millrace/testing": path("src/testing/index.ts"),
      "millrace/producer": path("src/producer.ts"),
      "millrace/server": path("src/server/index.ts"),
      millrace: path("src/index.ts"),
    },
  },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 3, // one more than processors: many tests wait for a lease or a timer
    pool: "forks",
    isolate: false, // files share their process, one after another: what they import is loaded once
  },
});
