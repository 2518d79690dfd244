import type pg from "pg";

/** What a check found: nothing wrong, something wrong with what to do about it, or that it could not look. */
export type Finding =
  | { readonly state: "ok"; readonly message: string }
  | { readonly state: "wrong"; readonly message: string; readonly remedy: string }
  | { readonly state: "skipped"; readonly message: string };

/** The database that is looked at. */
export interface Patient {
  readonly pool: pg.Pool;
  readonly schema: string;
  /** Read from the promised views: `:jobs` stands for the view in the schema. */
  readonly read: <Row>(text: string, values?: readonly unknown[]) => Promise<Row[]>;
  /** A snapshot older than this is worth telling. */
  readonly maxSnapshotAgeMs: number;
  /** Types with more waiting jobs than this are not counted one by one. Default 100,000. */
  readonly maxCounted?: number;
}

export interface Check {
  readonly name: string;
  /** Needs a schema that this release can work with. */
  readonly needsSchema: boolean;
  readonly run: (patient: Patient) => Promise<readonly Finding[]>;
}

export const ok = (message: string): Finding => ({ state: "ok", message });
export const wrong = (message: string, remedy: string): Finding => ({ state: "wrong", message, remedy });
export const skipped = (message: string): Finding => ({ state: "skipped", message });
