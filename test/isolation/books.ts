import type { Json, JobId, JobState } from "../../src/db/types.js";
import type { Scene } from "./scenes.js";
import type { Stage } from "./stage.js";

/** What is known of one job. Times are milliseconds. */
export interface JobRow {
  readonly id: JobId;
  readonly queue: string;
  readonly lane: string;
  readonly state: JobState;
  /** What job_state says; only where it was asked for. */
  readonly state_alone?: JobState | null;
  readonly group: string | null;
  readonly fingerprint: string | null;
  readonly is_follow_up: boolean;
  readonly is_staged: boolean;
  readonly is_revived: boolean;
  /** The transaction that enqueued it. */
  readonly xid: string;
  readonly attempts: number;
  readonly input: Json;
  /** Ends since the job was last given another life: attempts, streaks and closes. */
  readonly ends: number;
  readonly claims: number;
  /** The claim it is in. */
  readonly token: string | null;
  readonly finished_at: number | null;
  readonly start_by: number | null;
  /** It was, or is, to run later than it could have. */
  readonly was_delayed: boolean;
}

const jobsText = `
  select v.id::text, v.queue, lane_key(j.queue_id, j.type, j.priority, j.resources)::text as lane, v.state, v."group", v.fingerprint,
         exists (select from fingerprint f where f.follow_up = v.id) as is_follow_up, v.stage is not null as is_staged, exists (select from decision d where d.job_id = v.id and d.action = 'retry') as is_revived, j.xid::text,
         v.attempts, v.input, e.ends, (select count(*)::int from claim c where v.id = any (c.jobs)) as claims,
         k.token::text,
         extract(epoch from v.finished_at)::float8 * 1000 as finished_at, extract(epoch from coalesce(m.start_by, j.start_by))::float8 * 1000 as start_by,
         greatest(j.run_at, m.run_at) > job_created_at(j.id) + interval '1 second' as was_delayed
    from jobs v join job j on j.slot = job_slot(v.id) and j.id = v.id left join amendment m on m.slot = job_slot(v.id) and m.job_id = v.id
    left join lateral (select c.token from claim c where v.id = any (c.jobs) limit 1) k on true
    cross join lateral (
      select (select count(*)::int from attempt a where a.slot = job_slot(v.id) and a.job_id = v.id and a.state is not null and a.attempt > coalesce(m.revived_after, 0))
           + (select count(*)::int from streak s where s.slot = job_slot(v.id) and s.first_place <= job_place(v.id) and s.first_place + s.length > job_place(v.id))
           + case when m.closed_at is not null then 1 else 0 end as ends) e
   where v.id >= $1 and v.queue = any ($2) order by v.id`;

/** All jobs of a scene's queues; if asked, with their states as they are told one by one. */
export async function readJobs(stage: Stage, scene: Scene, isThorough = false): Promise<JobRow[]> {
  const values = [scene.ids[0], queuesOf(scene)];
  return isThorough
    ? stage.query<JobRow & { id: string }>(
        "jobs, thoroughly",
        `select x.*, job_state(x.id::bigint) as state_alone from (${jobsText} offset 0) x`,
        values,
      )
    : stage.query<JobRow & { id: string }>("jobs", jobsText, values);
}

export const queuesOf = ({ queue, dead }: Scene): readonly string[] => (dead === undefined ? [queue] : [queue, dead]);

/** What the counts of a lane say, and what its logs say. */
export interface LaneBook {
  readonly lane: string;
  readonly type: string;
  readonly ready: number;
  readonly delayed: number;
  readonly staged: number;
  readonly log_ready: number;
  readonly log_delayed: number;
  readonly log_staged: number;
  /**
   * Jobs whose time to start has passed, and that a claim has gone past: the sweep will record them, and count them
   * out.
   */
  readonly passed_over: number;
  /**
   * What stands there of jobs that are gone: their retention has passed, and nobody can tell any more whether they
   * count.
   */
  readonly gone: number;
  /** Jobs that stand in a track although a claim names them. */
  readonly running: number;
}

/**
 * In one statement, so by one snapshot. Of each lane: what stands in the agenda; what was put aside, or left for
 * others; what stands in tickets beyond the cursor of its track (the lane's own two, those of its groups, those of
 * ranges that were set aside), or in tickets of late transactions beyond their place. Not tickets that a purge has
 * dropped, nor what is void because its job was moved or has ended. What was shed counts until somebody passes it,
 * and what was dropped of the agenda until it is deleted. The engine has a proof of its own (counts_audit), which
 * must agree.
 */
const booksText = `
  with jobs_of as materialized (
    select j.id, j.slot, j.xid, j.group_key, j.type, lane_key(j.queue_id, j.type, j.priority, j.resources) as lane, j.start_by
      from job j join queue q on q.id = j.queue_id where q.name = any ($2) and j.id >= $1
  ), lanes as materialized (
    select lane, min(type) as type from jobs_of group by lane
  ), tracks as (
    select lane, lane + n as track from lanes cross join (values (0), (1)) x (n)
    union
    select lane, group_track(lane, group_key) + n from (select distinct lane, group_key from jobs_of where group_key is not null) g cross join (values (0), (1)) x (n)
  ), cursors as materialized (
    select t.lane, t.track, null::pg_snapshot as seen, c.seq, c.head_xid, c.head_ticket, c.head_offset, c.late
      from tracks t left join lateral (select * from lane_cursor c where c.track = t.track and c.seq >= 0 order by c.seq desc limit 1) c on true
    union all
    select r.lane, t.track, r.snapshot, c.seq, c.head_xid, c.head_ticket, c.head_offset, c.late
      from aside r join lanes l on l.lane = r.lane join tracks t on t.lane = r.lane and t.track & -4 = r.lane
      cross join lateral (select * from lane_cursor c where c.track = t.track and c.seq >= -(r.n << 32) and c.seq < -((r.n - 1) << 32) order by c.seq desc limit 1) c
  ), tickets as materialized (
    select c.lane, u.job, k.xid, k.version
      from cursors c join ticket k on k.lane = c.track cross join lateral unnest(k.jobs) with ordinality u (job, n)
     where (c.seen is null or pg_visible_in_snapshot(k.xid::text::xid8, c.seen))
       and (c.seq is null or (k.xid, k.id, u.n) > (c.head_xid, c.head_ticket, c.head_offset)
            or exists (select from unnest(c.late) l (xid, ticket, n) where l.xid = k.xid and (k.id, u.n) > (l.ticket, l.n)))
    union all
    select p.lane, p.job_id, p.xid, p.version from postponed p join lanes l on l.lane = p.lane
    union all
    select p.lane, p.job_id, p.xid, 0 from spare p join lanes l on l.lane = p.lane
  ), standing as materialized (
    select t.lane, t.job from tickets t join jobs_of j on j.id = t.job left join amendment m on m.slot = j.slot and m.job_id = j.id
     where coalesce(m.version, 0) <= t.version and m.closed_at is null
       and not exists (select from lane_purge p where p.lane = t.lane and p.before is null and purge_saw(p, t.xid, t.job))
  ), waiting as materialized (
    select g.lane, g.job_id, g.stage, coalesce(g.chain = 1, false) as is_due from agenda g join lanes l on l.lane = g.lane
  ), overdue as (
    select j.lane, j.id from jobs_of j left join amendment m on m.slot = j.slot and m.job_id = j.id
     where coalesce(m.start_by, j.start_by) <= clock_now() and m.closed_at is null and j.id not in (select job from standing) and not exists (select from agenda g where g.job_id = j.id)
       and not exists (select from claim c where j.id = any (c.jobs)) and job_state(j.id) = 'expired'
       and not exists (select from job_attempt a where a.slot = j.slot and a.job_id = j.id and a.state is not null and a.attempt > coalesce(m.revived_after, 0))
  )
  select l.lane::text, l.type, coalesce(d.ready, 0)::int as ready, coalesce(d.delayed, 0)::int as delayed, coalesce(d.staged, 0)::int as staged,
         (select count(*)::int from standing s where s.lane = l.lane) + (select count(*)::int from waiting w where w.lane = l.lane and w.is_due) as log_ready,
         (select count(*)::int from waiting w where w.lane = l.lane and not w.is_due) as log_delayed,
         (select count(*)::int from waiting w where w.lane = l.lane and w.stage is not null) as log_staged,
         (select count(*)::int from overdue o where o.lane = l.lane) as passed_over,
         (select count(*)::int from tickets t where t.lane = l.lane and not exists (select from job j where j.slot = job_slot(t.job) and j.id = t.job)) as gone,
         (select count(*)::int from standing s where s.lane = l.lane and exists (select from claim c where s.job = any (c.jobs))) as running
    from lanes l
    left join lateral (
      select sum(x.ready) as ready, sum(x.delayed) as delayed, sum(x.staged) as staged
        from (select ready, delayed, staged from tally t where t.lane = l.lane union all select ready, delayed, staged from lane_depth t where t.lane = l.lane) x) d on true
   order by l.lane`;

export async function readBooks(stage: Stage, scene: Scene): Promise<LaneBook[]> {
  return stage.query<LaneBook & { lane: string }>("books", booksText, [scene.ids[0], queuesOf(scene)]);
}

/** Lanes of which the engine itself says that their counts are wrong. */
export async function readAudit(stage: Stage, { queue }: Scene): Promise<{ type: string }[]> {
  return stage.query<{ type: string }>("audit", "select type from counts_audit($1)", [queue]);
}

/** What is wrong with the books of a lane; undefined when they balance. */
export function imbalance(book: LaneBook): string | undefined {
  const ready = book.log_ready + book.passed_over;
  const isMore = book.ready > ready && book.ready <= ready + book.gone;
  const counts = `ready ${book.ready}, delayed ${book.delayed}, staged ${book.staged}`;
  const logs = `ready ${isMore ? book.ready : ready}, delayed ${book.log_delayed}, staged ${book.log_staged}`;
  return counts === logs ? undefined : `the counts say ${counts}, the logs ${logs}`;
}

const endText = `
  select q.closed_at is not null as closed, q.finished_at is not null as finished, coalesce(d.ready, 0)::int as ready, coalesce(d.delayed, 0)::int as delayed, coalesce(d.staged, 0)::int as staged,
         (coalesce(d.ready, 0) + coalesce(d.delayed, 0) - coalesce(d.staged, 0))::int
           + (select coalesce(sum(cardinality(c.jobs)), 0)::int from claim c join lane l on l.key = c.lane where l.queue_id = q.id) as live
    from queue q
    left join lateral (
      select sum(x.ready) as ready, sum(x.delayed) as delayed, sum(x.staged) as staged from lane l
        join (select lane, ready, delayed, staged from tally union all select lane, ready, delayed, staged from lane_depth) x on x.lane = l.key where l.queue_id = q.id) d on true
   where q.name = $1`;

/** How far a queue has come, and what is left in its counts. */
export interface QueueEnd {
  readonly closed: boolean;
  readonly finished: boolean;
  /** How many jobs run or wait, by these counts, for something else than its end. */
  readonly live: number;
  readonly ready: number;
  readonly delayed: number;
  readonly staged: number;
}

export async function readEnd(stage: Stage, { queue }: Scene): Promise<QueueEnd> {
  return (await stage.query<QueueEnd & { closed: boolean }>("end", endText, [queue]))[0]!;
}
