/** A change of the list that new queues are placed by: sql/cells/README.md. */
export interface CellMember {
  readonly name: string;
  /** Of the list that it made: even once all cells know it, odd until then. */
  readonly version: number;
  /** `in`: it gets new queues. `out`: no more. `removed`: processes do without it. */
  readonly state: "in" | "out" | "removed";
}

/** Who a cell is, and what it knows of the others. */
export interface CellLook {
  readonly id: string;
  /** What it is called among others; null until it is used with them. */
  readonly name: string | null;
  /** It has queues or jobs of its own. */
  readonly isUsed: boolean;
  readonly version: number;
  readonly members: readonly CellMember[];
  /** Workers that serve it. */
  readonly holders: number;
}

/** What a worker learns of a cell that it serves, or might. */
export interface HeldCell {
  readonly holds: boolean;
  /** How many others serve it. */
  readonly others: number;
  /** One of them serves fewer cells. */
  readonly spared: boolean;
  /** Which of the worker's queues are in it. */
  readonly queues: readonly string[];
}

/** A cell that could not be asked, and why. */
export interface MissingCell {
  readonly cell: string;
  readonly because: string;
}
