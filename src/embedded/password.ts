import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Binaries } from "./binaries.js";
import { type ServerUser, isOwnSecret } from "./own-folder.js";

/** Beside the data: readable for us, and for the user that the server runs as, who is told it when the data is made. */
export const passwordFile = (folder: string): string => path.join(folder, "password");

/**
 * The password of the superuser: every user of this machine can reach the port. Undefined when there is none, or others
 * may have read it.
 */
export function readPassword(folder: string, user: ServerUser): string | undefined {
  const file = passwordFile(folder);
  return isOwnSecret(file, user) ? readFileSync(file, "utf8").trim() : undefined;
}

export function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

/**
 * Data of a release that let everybody in gets a password, and from then on asks for it. Before its server starts, so
 * that there is no moment between.
 */
export async function givePassword(binaries: Binaries, data: string, password: string): Promise<void> {
  const single = spawn(
    binaries.postgres,
    ["--single", "-D", data, "-c", "password_encryption=scram-sha-256", "postgres"],
    {
      ...binaries.user,
      stdio: ["pipe", "ignore", "pipe"],
      cwd: path.dirname(data),
    },
  );
  let log = "";
  single.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  single.stdin.on("error", () => {}); // it has ended, and says why
  single.stdin.end(`alter role postgres password '${password}'\n`);
  const [code] = (await once(single, "exit")) as [number | null];
  if (code !== 0 || /\bERROR:/.test(log)) throw new Error(`the server could not be given a password: ${log}`);
  askForPassword(path.join(data, "pg_hba.conf"));
}

function askForPassword(rules: string): void {
  if (!existsSync(rules)) return;
  writeFileSync(
    rules,
    readFileSync(rules, "utf8").replaceAll(/^(\s*(?:local|host\w*)\s.*\s)trust(?=\s*(?:#.*)?$)/gm, "$1scram-sha-256"),
  );
}
