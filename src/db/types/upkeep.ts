/** How much a round of upkeep did. */
export interface MaintenanceReport {
  readonly lanes: number;
  readonly promoted: number;
  readonly reaped: number;
  readonly expired: number;
  readonly folded: number;
  /** Queues that have finished. */
  readonly finished: number;
  /** Some queue has very many lanes: `lanesRest` has something to do. */
  readonly crowded?: boolean;
  /** Something has happened that others wait for, and nobody has told them: `engine.noticesDeliver()`. */
  readonly notices?: boolean;
  /** A minute has ended that nobody has written down: `engine.historySample()`. */
  readonly history?: boolean;
  /** Nobody has given space back for so long: whoever is told so calls `engine.maintainSpace()`. */
  readonly space?: boolean;
  /** Rules are to be compared with what is: `engine.alertsCheck()`. */
  readonly alerts?: boolean;
  /** Parts that failed, each with its error; the others were done. */
  readonly failed?: Readonly<Record<string, string>>;
}

/** Which space a round of upkeep gave back. */
export interface SpaceReport {
  readonly ticketChildren: number;
  readonly jobChildren: number;
  readonly compacted: readonly string[];
  /** Cursors of groups that nothing is left of. */
  readonly groupsForgotten: number;
  /** Lanes that had nothing, and of which nothing is left. */
  readonly lanesForgotten: number;
}
