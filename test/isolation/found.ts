/** Combinations that once broke a promise, each by another cause. They are tried every time. */
export const found: Readonly<Record<string, string>> = {
  "a cancel in a prepared transaction": "plain/young/cancel the waiting job/claim all/-/prepared/none",
  "a replacement in a prepared transaction": "plain/young/enqueue: replace the waiting job/claim all/-/prepared/none",
  "the retry of a failed job while its fingerprint names another live job":
    "plain/old/enqueue: beside the failed job/add retries to the failed job/-/auto/none",
  "a report in repeatable read after the claims were rewritten":
    "plain/young/complete/compact the claims/-/repeatable read/none",
  "the expiry of a job whose transaction was open during two sweeps":
    "plain/young/enqueue with a time to live/maintain/maintain/commit/expiry",
  "a purge while a new lane is found and claimed from":
    "plain/young/claim one/purge/claim from a new lane/overlap/none",
  "a purge beside an open release of a stage": "plain/young/release the stage/purge/-/commit/none",
  "a job behind a purged one in an ordered group":
    "ordered/young/retry later/purge/enqueue behind the held job/auto/none",
  "a job behind a purged one where one runs at a time":
    "serial/young/retry later/purge/enqueue behind the held job/auto/none",
  "a job behind a purged one in ordered batches": "batches/old/retry later/purge/enqueue behind the held job/auto/none",
  "transactions that straddle midnight": "plain/young/enqueue/enqueue/-/numbered/midnight",
  "shedding of staged jobs": "staged/young/shed/-/-/auto/none",
  "shedding while upkeep is under way and a job has expired": "plain/young/maintain/claim all/shed/commit/expiry",
  "rotation beside the retry of a job whose retention has passed":
    "plain/young/add retries to the failed job/rotate jobs/-/commit/retention",
  "a job behind one that was shed in an ordered group":
    "ordered/young/retry later/claim all/shed up to the middle/auto/none",
  "a job behind one that was shed in ordered batches":
    "batches/young/retry later/claim all/shed up to the middle/auto/none",
  "a release while the queue is purged": "plain/young/release/purge/release the far job/commit/none",
  "a retry while the queue is purged": "plain/young/release/purge/retry the far job/commit/none",
  "the rate of a group whose jobs were lost": "rates/old/nothing/-/-/auto/none",
  "ordered batches while a cancel of the first job is open, and rolled back":
    "batches/young/cancel the waiting job/claim all/-/rollback/none",
  "a release in repeatable read after the job's day was rotated":
    "plain/young/release/nothing/-/repeatable read/rotated",
  "a failure in repeatable read after the job's day was rotated": "plain/young/fail/nothing/-/repeatable read/rotated",
  "a delayed job of an ordered group that comes due before the retry of one that was lost":
    "ordered/young/reset the breaker/-/-/auto/none",
  "a running job whose queue was purged, past the retention of cancelled jobs":
    "plain/young/close/purge/-/numbered/rotated",
  "a staged job of another group than the one that was shed": "staged/old/shed the group/-/-/auto/none",
  "a table rewritten by an old snapshot": "plain/old/compact the claims/fail/-/repeatable read/none",
  "compaction in repeatable read, after others have deleted": "plain/old/compact/cancel where/-/repeatable read/none",
  "compaction of the claims in repeatable read, after a report":
    "plain/young/compact the claims/fail/-/repeatable read/none",
  "a new lane of a group whose running job is cancelled just then":
    "ordered/old/cancel where/claim from a new lane/-/commit/none",
  "a job behind one that was pushed into the future, in an ordered group":
    "ordered/old/enqueue: debounce the waiting job/-/-/auto/none",
  "a lost job of an ordered group, and one that became due while it ran": "ordered/young/nothing/-/-/auto/none",
  "staged jobs when another group is shed": "plain/old/shed the group/-/-/auto/none",
  "added retries that wait for a shedding": "plain/old/enqueue: debounce the delayed job/shed/add retries/commit/none",
  "a report beside a change of visibility": "plain/old/set visibility/release later/-/commit/none",
  "a cancel while the job's day is rotated": "plain/old/cancel the due job/rotate jobs/cancel the stage/commit/rotated",
  "the depth of a new lane in a read-only transaction":
    "plain/young/enqueue in a new lane/look at the depth, read only/-/auto/none",
  "a cancel in repeatable read after the job's day was rotated":
    "plain/old/cancel the waiting job/-/-/repeatable read/rotated",
  "a cancel that waited for the rotation of the job's day":
    "plain/old/rotate jobs/cancel the held job/-/commit/retention",
  "shedding past a job that expired and is gone with its day": "plain/old/shed/sweep/-/numbered/rotated",
  "a lost job of ordered batches whose time to start has passed":
    "batches/young/enqueue, claim and enqueue/-/-/auto/expiry",
  "a lost job of a group that is paused":
    "groups/old/release the far job/pause the group/enqueue, claim and enqueue/prepared rollback/midnight",
  "children started twice, once in a snapshot that does not see it":
    "plain/young/start a child/start a child/-/repeatable read/none",
  "a wait for a child in a queue that runs one job at a time": "serial/young/suspend for a child/-/-/auto/none",
  "a deadline, a purge and a signal of a suspended job": "plain/old/suspend for a signal/purge/deliver/commit/expiry",
  "a job that is suspended in a snapshot that does not see a shedding":
    "plain/young/suspend for a while/shed the type/-/repeatable read/none",
  "a shedding while jobs were left for claims that wait": "spares/old/shed/-/-/auto/none",
  "the same beside an open transaction": "spares/old/enqueue behind the held job/shed the type/-/savepoint/none",
};
