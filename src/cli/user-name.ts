import { userInfo } from "node:os";

/** Who sits here. Some containers run as a user without a name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
