import path from "node:path";

export default {
  distDir: "dist",
  serverExternalPackages: ["millrace", "pg"],
  turbopack: { root: path.join(import.meta.dirname, "..") },
};
