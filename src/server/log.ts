/** How bad it is. */
export type LogLevel = "debug" | "info" | "warn" | "error";
/** Where the server tells what happens: a short sentence and facts beside it. Never payloads, tokens or keys. */
export type Log = (level: LogLevel, message: string, facts?: Readonly<Record<string, unknown>>) => void;

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** One line of JSON for each thing that happens, at or above a level. */
export function jsonLog(level: LogLevel, write: (line: string) => void): Log {
  return (of, message, facts = {}) => {
    if (rank[of] >= rank[level])
      write(`${JSON.stringify({ time: new Date().toISOString(), level: of, message, ...facts })}\n`);
  };
}
