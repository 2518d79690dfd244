export function notesOf(changelog: string, version: string): string | undefined;
export function dated(changelog: string, version: string, day: string): string;
export function obstacles(facts: {
  version: string;
  notes: string | undefined;
  isClean: boolean;
  tags: readonly string[];
  repository: unknown;
}): string[];
