-- What was set aside of lanes is a room of its own: a claim only asks which lanes have some (asides_offer), and takes
-- from them by the same way as from any lane (tracks_take), with other cursors and an end.

-- asides_offer: of lanes, those of which something was set aside, as candidates that name it (aside_of).
create or replace function asides_offer(p_lanes lane_candidate[]) returns lane_candidate[]
language plpgsql volatile as $$
begin
  return array(
    select (aside_of(u.key), u.priority, u.about, u.lease, u.lease_factor, u.lease_cap, u.limits, u.groups,
            u.freshness, u.aging, u.is_heavy)::lane_candidate
      from unnest(p_lanes) u cross join lateral (select min(r.n) as n from aside r where r.lane = u.key) first
     where first.n is not null
     order by lane_urgency(u.key, u.priority, u.aging), first.n, u.key);
end $$;

-- aside_take: claim of what was set aside of a lane, the oldest range first; one that has nothing left ends.
-- As lane_take. Writes: aside, lane_cursor too.
create or replace function aside_take(o claim_order) returns claim_taken
language plpgsql as $$
declare
  v_range aside;
  t claim_taken;
begin
  select * into v_range from aside r where r.lane = o.lane order by r.n limit 1;
  o.is_serial := false;
  t := tracks_take(o, aside_cursor(o.lane, v_range.n), aside_cursor(again_of(o.lane), v_range.n), v_range.snapshot);
  if v_range.n is not null and not t.more and not t.stop then
    t.more := aside_end(o.lane, v_range.n);
  end if;
  return t;
end $$;

-- lane_freshen: set aside what waits in a lane when the next of it has waited for longer than its queue wants
-- (freshnessSeconds). p_wanted: how many would be taken. The caller has the lane's lock. Writes: as lane_set_aside.
create or replace function lane_freshen(p_lane bigint, p_seconds float8, p_wanted int) returns void
language plpgsql as $$
begin
  if readings_older(track_read(track_cursor(p_lane), p_wanted), track_read(track_cursor(again_of(p_lane)), p_wanted),
    p_seconds) then
    perform lane_set_aside(p_lane);
  end if;
end $$;

-- lanes_set_aside: of lanes that set aside what is too old, some have done so since they were listed.
create or replace function lanes_set_aside(p_lanes lane_candidate[]) returns boolean
language plpgsql stable as $$
begin
  return exists (select from unnest(p_lanes) l join aside r on r.lane = l.key
    where l.freshness is not null and not exists (select from unnest(p_lanes) x where x.key = aside_of(l.key)));
end $$;
