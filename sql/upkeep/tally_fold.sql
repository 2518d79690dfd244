-- tally_fold: add up the deltas of depth. Any process may call it. Returns how many rows were folded.
-- Locks: tally rows (skip locked), lane_depth rows in key order. Writes: tally, lane_depth.
create or replace function tally_fold(p_limit int default 100000) returns int
language plpgsql as $$
declare
  v_rows int;
begin
  with gone as (
    delete from tally where ctid = any (array(select ctid from tally limit p_limit for update skip locked)) returning *
  ), sums as (
    select lane, sum(ready) as ready, sum(delayed) as delayed, sum(staged) as staged, count(*) as n
      from gone
     group by lane
  ), folded as (
    insert into lane_depth as d (lane, ready, delayed, staged)
    select lane, ready, delayed, staged from sums order by lane
    on conflict (lane) do update
       set ready = d.ready + excluded.ready, delayed = d.delayed + excluded.delayed, staged = d.staged + excluded.staged
  )
  select coalesce(sum(n), 0) into v_rows from sums;
  return v_rows;
end $$;
