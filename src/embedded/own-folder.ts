import { chownSync, lstatSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** The user that the server runs as, when it is another than ours. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Whether a folder can be trusted: a real folder, no link to one, that belongs to us or to root and that nobody else
 * may write to. Temporary folders are shared: whoever is first could leave anything there under the name we are looking
 * for.
 */
export function isOwnFolder(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && (isWindows || (isOwner(found.uid) && (found.mode & 0o022) === 0));
}

/** Whether a file is ours alone, and no link. */
export function isOwnSecret(file: string, user: ServerUser = {}): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return (
    found?.isFile() === true &&
    (isWindows || ((isOwner(found.uid) || found.uid === user.uid) && (found.mode & 0o077) === 0))
  );
}

/**
 * Write a file that only we, or the server's user, may read. Renamed into its place, so that a link somebody left there
 * is replaced, and not followed.
 */
export function writeSecret(file: string, text: string, user: ServerUser = {}): void {
  const fresh = `${file}.${process.pid}`;
  rmSync(fresh, { force: true });
  writeFileSync(fresh, `${text}\n`, { mode: 0o600, flag: "wx" });
  if (user.uid !== undefined) chownSync(fresh, user.uid, user.gid ?? user.uid);
  renameSync(fresh, file);
}

/** Us, or root, who can do everything anyway. */
export function isOwner(uid: number): boolean {
  return uid === process.getuid?.() || uid === 0;
}

/** Folders of users are apart there, and modes mean nothing. */
const isWindows = process.platform === "win32";
