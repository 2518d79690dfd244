export interface ReferenceOptions {
  /** May answer for files instead of the disk: undefined leaves it to the disk. */
  readonly readFile?: (path: string) => string | undefined;
}

export function readReference(options?: ReferenceOptions): {
  readonly text: string;
  readonly undocumented: readonly string[];
};

export function checkReference(options?: ReferenceOptions): string[];
