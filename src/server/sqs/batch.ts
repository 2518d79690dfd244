import { SqsError } from "./wire/errors.js";
import type { FailedEntry } from "./wire/model.js";

const maxEntries = 10;

interface Entry {
  readonly Id: string;
}

/** What is wrong with a batch as a whole is said before anything is done. */
export function checkEntries(kind: string, entries: readonly Entry[]): void {
  if (entries.length === 0)
    throw new SqsError("EmptyBatchRequest", `There should be at least one ${kind} in the request.`);
  if (entries.length > maxEntries) {
    throw new SqsError(
      "TooManyEntriesInBatchRequest",
      `Maximum number of entries per request are ${maxEntries}. You have sent ${entries.length}.`,
    );
  }
  for (const { Id } of entries) if (!/^[\w-]{1,80}$/.test(Id)) throw new SqsError("InvalidBatchEntryId");
  const seen = new Set<string>();
  for (const { Id } of entries) {
    if (seen.has(Id)) throw new SqsError("BatchEntryIdsNotDistinct", `Id ${Id} repeated.`);
    seen.add(Id);
  }
}

/** Do something for each entry, and tell which succeeded. */
export async function eachEntry<E extends Entry>(
  entries: readonly E[],
  act: (entry: E) => Promise<void>,
  failureOf: (error: unknown) => SqsError,
): Promise<{ readonly Successful: Entry[]; readonly Failed: FailedEntry[] }> {
  const results = await Promise.allSettled(entries.map(act));
  const Successful: Entry[] = [];
  const Failed: FailedEntry[] = [];
  for (const [i, result] of results.entries()) {
    const { Id } = entries[i]!;
    if (result.status === "fulfilled") Successful.push({ Id });
    else Failed.push(failureOf(result.reason).entry(Id));
  }
  return { Successful, Failed };
}
