import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Auth } from "../auth/auth.js";
import { type Exchange, type Part, answer } from "../http/exchange.js";

const home = "/dashboard/";
/** Built beside the compiled server; when the server runs from its source, in dist all the same. */
const builtFolders = ["../../dashboard/", "../../../dist/dashboard/"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** No inline script or style, nothing from elsewhere, no frame around it, and no way for a text to become markup. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const always = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  vary: "accept-encoding",
} as const;

interface StaticFile {
  readonly type: string;
  readonly body: Buffer;
  readonly packed: Buffer;
  readonly tag: string;
  /** Its name changes with what is in it. */
  readonly isHashed: boolean;
}

/** Which requests are for the dashboard: its own paths, and a browser that opens the server itself. */
export function takesDashboard({ request, path: at }: Exchange): boolean {
  if (at === "/dashboard" || at.startsWith(home)) return true;
  return (
    at === "/" &&
    (request.method === "GET" || request.method === "HEAD") &&
    (request.headers.accept ?? "").includes("text/html")
  );
}

/**
 * The files of the dashboard. They are read once; a path is looked up among their names and never reaches the file
 * system. Redirects are relative, so that they hold behind any proxy and prefix.
 */
export function dashboardPart(auth: Pick<Auth, "isMounted">, folders: readonly string[] = builtFolders): Part {
  const folder = folders.find((one) => existsSync(path.join(one, "index.html")));
  const files = folder === undefined ? new Map<string, StaticFile>() : readFiles(folder);
  // Next.js takes slashes off the ends of addresses, where relative ones would then lead elsewhere.
  const page = auth.isMounted ? "dashboard/index.html" : "dashboard/";
  return async (exchange) => {
    const { request, path: at, target } = exchange;
    if (auth.isMounted && !exchange.user)
      answer(
        exchange,
        401,
        { ...always, "cache-control": "no-store", "content-type": "text/plain" },
        "sign in to the application first\n",
      );
    else if (request.method !== "GET" && request.method !== "HEAD")
      answer(exchange, 405, { ...always, allow: "GET, HEAD", "content-type": "text/plain" }, "only GET\n");
    else if (at === "/" || at === "/dashboard") redirect(exchange, at === "/" ? `${lastWord(target)}${page}` : page);
    else if (files.size === 0)
      answer(
        exchange,
        503,
        { ...always, "content-type": "text/plain" },
        "the files of the dashboard are not here: leave the package outside of your bundle, or build it (npm run build)\n",
      );
    else serve(exchange, files, at.slice(home.length));
  };
}

function serve(exchange: Exchange, files: ReadonlyMap<string, StaticFile>, name: string): void {
  const file = files.get(name === "" ? "index.html" : name);
  if (file) send(exchange, file);
  else if (name.startsWith("assets/"))
    answer(
      exchange,
      404,
      { ...always, "cache-control": "no-store", "content-type": "text/plain" },
      "no such file; reload the dashboard\n",
    );
  // Whatever else is a page of it, by the address the page itself would use.
  else redirect(exchange, `${"../".repeat(name.split("/").length - 1) || "./"}#/${name}`);
}

function send({ request, response }: Exchange, { type, body, packed, tag, isHashed }: StaticFile): void {
  const headers = {
    ...always,
    etag: tag,
    "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
  };
  if (request.headers["if-none-match"] === tag) {
    response.writeHead(304, headers).end();
    return;
  }
  const isPacked = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  const bytes = isPacked ? packed : body;
  response.writeHead(200, {
    ...headers,
    "content-type": type,
    "content-length": bytes.length,
    ...(isPacked && { "content-encoding": "gzip" }),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** What a relative address must repeat: a prefix that was asked for without a slash at its end. */
function lastWord(target: string): string {
  const word = target.split("/").at(-1)!;
  return word === "" ? "" : `${word}/`;
}

function redirect(exchange: Exchange, location: string): void {
  answer(exchange, 302, { ...always, location, "cache-control": "no-store", "content-type": "text/plain" }, "");
}

function readFiles(folder: string): Map<string, StaticFile> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    names.map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(folder, file).split(path.sep).join("/");
      const body = readFileSync(file);
      const type = types[path.extname(name)] ?? "application/octet-stream";
      const tag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
      return [name, { type, body, packed: gzipSync(body), tag, isHashed: name.startsWith("assets/") }];
    }),
  );
}
