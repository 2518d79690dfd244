import { spawn } from "node:child_process";
import type { Socket } from "node:net";

/**
 * End a server, and remove its temporary folder, when this process is gone, however that came: test runners end their
 * processes by a signal, of which Node tells nobody. A shell waits for the end of a pipe that only this process holds.
 * It ends what the folder itself names as its server, and nothing when that has been stopped. Returns how to call it
 * off. Windows has no such shell; there the server is left to the event `exit`.
 */
export function endWithUs(pid: number, folder: string): () => void {
  if (process.platform === "win32") return () => {};
  const script = `read -r _
if [ "$(head -n 1 "$2/data/postmaster.pid" 2>/dev/null)" = "$1" ]; then
  kill -QUIT "$1"
  while kill -0 "$1" 2>/dev/null; do sleep 0.1; done
  rm -rf "$2"
fi`;
  const keeper = spawn("/bin/sh", ["-c", script, "sh", String(pid), folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true, // Ctrl-C in a terminal is not meant for it
    cwd: "/",
  });
  keeper.on("error", () => {}); // without a shell the server ends with the event `exit` only
  keeper.unref();
  (keeper.stdin as Socket | null)?.unref();
  return () => keeper.kill();
}
