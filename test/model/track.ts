/**
 * The cursor's arithmetic, statement by statement as in sql/claim/track_read.sql, track_advance.sql, lane_discover.sql
 * and queue_purge.sql, and what lane_take.sql says about days. Pure functions of a snapshot; who may run between two of
 * them is cursor-model.ts's business.
 */

/**
 * What pg_current_snapshot() says: transactions at or above xmax are running too, but are not listed. Nor is one's own.
 */
export interface Snapshot {
  readonly own: number;
  readonly xmin: number;
  readonly xmax: number;
  readonly running: readonly number[];
}

/**
 * A place in the log: after the job at `offset` (from 1) of the ticket. Ticket 0 comes before all tickets of its
 * transaction.
 */
export interface Position {
  readonly xid: number;
  readonly ticket: number;
  readonly offset: number;
}

export interface Handout extends Position {
  readonly job: number;
  /**
   * The ring child of jobs that it is in. Days do not follow the order of positions: who has a number may enqueue much
   * later.
   */
  readonly day: number;
}

export interface Cursor {
  readonly head: Position;
  /** Transactions that the head has passed while they ran, each with how far its tickets have been handed out. */
  readonly late: readonly Position[];
}

/** The jobs of all tickets with from <= xid < to that this snapshot sees, in the order of the index. */
export type Log = (snapshot: Snapshot, from: number, to: number) => readonly Handout[];

export interface Reading {
  readonly cursor: Cursor;
  readonly wanted: number;
  readonly lateDone: readonly boolean[];
  readonly lateCount: number;
  /** The last late transaction read from has nothing left. Only a mutant looks at it. */
  readonly lateExhausted: boolean;
  readonly jobs: readonly Handout[];
  readonly running: readonly number[];
  readonly passedXid: number;
  /** Where the loop over ring children stands; null when it has ended. */
  readonly at: Position | null;
}

/**
 * Ways to get it wrong, each of which the model must notice; and, last, a way to get it right that the SQL does not
 * have yet.
 */
export interface Rules {
  /** Storing the position of one half-taken late transaction resets those of the others. */
  readonly overwritesPositions?: boolean;
  /** A late transaction that ended exactly with the batch stays, with its position reset. */
  readonly resetsAtBoundary?: boolean;
  /** Running transactions come from a snapshot taken after the one that read the tickets. */
  readonly runningFromLaterSnapshot?: boolean;
  /** The transaction at the head itself is not looked for among the running ones. */
  readonly skipsHeadXid?: boolean;
  /** The claimer's own transaction, when passed, is not remembered. */
  readonly forgetsOwn?: boolean;
  /** The claimer's own transaction, when late, counts as ended. */
  readonly takesOwnForEnded?: boolean;
  /** Ended late transactions are dropped even when the batch was too small to read them all. */
  readonly dropsUnread?: boolean;
  /**
   * Transactions from xmax up to one's own, which no snapshot lists, are not counted as running when one's own tickets
   * are read.
   */
  readonly ignoresBeyondXmax?: boolean;
  /** A purge leaves it to its snapshot which jobs of its own transaction it has dropped. */
  readonly purgeForgetsOwn?: boolean;
  /** Jobs are of one day when the first and the last of them are. */
  readonly comparesFirstAndLastDay?: boolean;
}

const after = (a: Position, b: Position): boolean =>
  a.xid !== b.xid ? a.xid > b.xid : a.ticket !== b.ticket ? a.ticket > b.ticket : a.offset > b.offset;

/** pg_visible_in_snapshot: has this transaction ended, one way or the other? */
export const hasEnded = (xid: number, snapshot: Snapshot): boolean =>
  xid < snapshot.xmax && !snapshot.running.includes(xid);

/** lane_discover: the cursor of a new lane starts where no running producer can be behind it. */
export function discover(snapshot: Snapshot, log: Log): Cursor {
  const oldest = log(snapshot, 0, Number.MAX_SAFE_INTEGER)[0];
  return { head: { xid: Math.min(snapshot.xmin, oldest?.xid ?? snapshot.xmin), ticket: 0, offset: 0 }, late: [] };
}

/** track_read, first part: late transactions that have ended. Without late ones the SQL takes no snapshot here. */
export function readLate(cursor: Cursor, wanted: number, snapshot: Snapshot | null, log: Log, rules: Rules): Reading {
  const jobs: Handout[] = [];
  let lateDone: boolean[] = [];
  let lateExhausted = true;
  if (snapshot) {
    lateDone = cursor.late.map(
      ({ xid }) => hasEnded(xid, snapshot) && (rules.takesOwnForEnded === true || xid !== snapshot.own),
    );
    cursor.late.forEach((late, i) => {
      if (!lateDone[i] || jobs.length === wanted) return;
      const left = log(snapshot, late.xid, late.xid + 1).filter((job) => after(job, late));
      const room = wanted - jobs.length;
      lateExhausted = left.length <= room;
      jobs.push(...left.slice(0, room));
    });
  }
  return {
    cursor,
    wanted,
    lateDone,
    lateCount: jobs.length,
    lateExhausted,
    jobs,
    running: [],
    passedXid: 0,
    at: jobs.length < wanted ? cursor.head : null,
  };
}

/** track_read, the loop: one ring child of `width` transactions, in one statement with its own snapshot. */
export function readChild(reading: Reading, snapshot: Snapshot, log: Log, width: number, rules: Rules): Reading {
  const at = reading.at!;
  const end = (Math.floor(at.xid / width) + 1) * width;
  const room = reading.wanted - reading.jobs.length;
  const found = log(snapshot, at.xid, end)
    .filter((job) => after(job, at))
    .slice(0, room);
  const running = snapshot.running.filter((xid) => xid >= at.xid && xid < end);
  if (!rules.ignoresBeyondXmax) {
    for (let xid = Math.max(snapshot.xmax, at.xid); xid < Math.min(snapshot.own, end); xid += 1) running.push(xid);
  }
  const isLast = found.length === room || snapshot.xmax < end;
  return {
    ...reading,
    jobs: [...reading.jobs, ...found],
    running: [...reading.running, ...running],
    passedXid: isLast ? reading.passedXid : end,
    at: isLast ? null : { xid: end, ticket: 0, offset: 0 },
  };
}

/** lane_take: how many of the jobs read may go into one claim, which reads one ring child of jobs. */
export function ofOneDay(jobs: readonly Handout[], rules: Rules): number {
  const first = jobs[0]?.day;
  const cut =
    rules.comparesFirstAndLastDay && jobs.at(-1)?.day === first ? -1 : jobs.findIndex(({ day }) => day !== first);
  return cut < 0 ? jobs.length : cut;
}

/** jobs_hand_out: the jobs of a claim are read from the ring child of the first. */
export function handOut(jobs: readonly Handout[]): readonly Handout[] {
  return jobs.filter(({ day }) => day === jobs[0]!.day);
}

/** track_advance: the cursor past the first `taken` jobs of a reading. */
export function advance(reading: Reading, taken: number, own: number, rules: Rules): Cursor {
  const { jobs, lateCount, lateDone, wanted } = reading;
  const before = reading.cursor.head;
  let late = reading.cursor.late;
  let head = before;

  if (lateDone.includes(true)) {
    if (taken >= lateCount && (lateCount < wanted || rules.dropsUnread)) {
      late = late.filter((_, i) => !lateDone[i]);
    } else if (taken > 0) {
      const last = jobs[Math.min(taken, lateCount) - 1]!;
      const at = late.findIndex(({ xid }) => xid === last.xid);
      const isReset = rules.resetsAtBoundary === true && taken === lateCount && reading.lateExhausted;
      late = late
        .map((entry, i) =>
          i === at
            ? place(last.xid, isReset ? null : last)
            : rules.overwritesPositions
              ? place(entry.xid, null)
              : entry,
        )
        .filter((_, i) => !(lateDone[i] && i < at));
    }
  }

  if (
    taken === jobs.length &&
    taken < wanted &&
    reading.passedXid > 0 &&
    (jobs[taken - 1]?.xid ?? 0) < reading.passedXid
  ) {
    head = place(reading.passedXid, null);
  } else if (taken > lateCount) {
    head = place(jobs[taken - 1]!.xid, jobs[taken - 1]!);
  }
  if (head.xid > before.xid) {
    const missed = reading.running.filter(
      (xid) => (rules.skipsHeadXid ? xid > before.xid : xid >= before.xid) && xid < head.xid,
    );
    late = [...late, ...missed.map((xid) => place(xid, null))];
    if (own >= before.xid && own < head.xid && !rules.forgetsOwn) {
      const lastOwn = jobs.slice(0, taken).findLast((job, i) => i >= lateCount && job.xid === own);
      late = [...late, place(own, lastOwn ?? (own === before.xid ? before : null))];
    }
  }
  return { head, late };
}

/** queue_purge: the cursor behind everything this snapshot sees; what is still running arrives later, and stays. */
export function purge(snapshot: Snapshot, log: Log): Cursor {
  const { own, xmax } = snapshot;
  const ownLast = log(snapshot, own, own + 1).at(-1);
  const everything = ownLast ? { ticket: ownLast.ticket, offset: Number.MAX_SAFE_INTEGER } : null;
  const late = new Set(snapshot.running);
  if (own < xmax) late.add(own);
  for (let xid = xmax; xid < own; xid += 1) late.add(xid);
  return {
    head: place(Math.max(xmax, own), own >= xmax ? everything : null),
    late: [...late].sort((a, b) => a - b).map((xid) => place(xid, xid === own ? everything : null)),
  };
}

function place(xid: number, at: Omit<Position, "xid"> | null): Position {
  return { xid, ticket: at?.ticket ?? 0, offset: at?.offset ?? 0 };
}

/** Rules no cursor may break, whatever has happened: checked each time it moves. */
export function cursorFault(before: Cursor, next: Cursor): string | undefined {
  if (after(before.head, next.head)) return "the head moved back";
  if (new Set(next.late.map(({ xid }) => xid)).size < next.late.length) return "a late transaction is listed twice";
  if (next.late.some(({ xid }) => xid >= next.head.xid))
    return "a late transaction is listed that the head has not passed";
  return undefined;
}
