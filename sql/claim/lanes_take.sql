-- lanes_take: take from lanes, in the order given, until the claim is full or must stop. A lane in other hands, or at a
-- limit, is passed over, and remembered.
-- Locks: lanes, their flags, limits (never waits). Writes: as lane_take and turns_take; token buckets.
create or replace function lanes_take(p claim_progress, r claim_request, w claim_scene, p_lanes lane_candidate[])
  returns claim_progress
language plpgsql as $$
declare
  l lane_candidate;
  o claim_order;
  t claim_taken;
  v_room record;
  v_shed record;
begin
  foreach l in array coalesce(p_lanes, '{}') loop
    o.lane := fresh_of(l.key);
    if not pg_try_advisory_xact_lock(lane_lock(o.lane)) then
      p.busy := p.busy || o.lane;
      continue;
    end if;
    p.held := greatest(p.held, o.lane);
    o := (o.lane, l.about, p.room, p.bytes, r.worker, coalesce(r."leaseSeconds", l.lease),
          coalesce(r."leaseFactor", l.lease_factor), coalesce(r."leaseCapSeconds", l.lease_cap), r."trackStart",
          r."groupLimit", p.room = r."limit", false, false, false, l.is_heavy)::claim_order;
    if l.limits is not null then
      v_room := lane_room(o.lane, l.limits, p.room);
      o.wanted := v_room.room;
      o.is_serial := l.limits @? '$[*].serial';
      p.wait := least(p.wait, v_room.wait);
      p.is_limited := p.is_limited or coalesce(o.wanted < p.room, false);
      if o.wanted is null then
        p.busy := p.busy || o.lane;
      end if;
      continue when coalesce(o.wanted, 0) = 0;
    end if;
    if groups_limited(l.groups) then
      p.is_rated := p.is_rated or (l.groups).rate is not null or (l.groups).has_own;
      if not pg_try_advisory_xact_lock(queue_limit((l.groups).queue_id)) then
        p.busy := p.busy || o.lane;
        continue;
      end if;
    end if;
    if l.limits is not null or (l.groups).ordered is not null then
      o.about := o.about || ',"fence":' || nextval('ticket_id_seq');
    end if;
    o.is_flagged := not pg_try_advisory_xact_lock(lane_flag(o.lane));
    if w.has_sheds then
      v_shed := lane_shed(o.lane);
      o.is_shed := v_shed.is_open;
      p.stop := v_shed.more;
    end if;
    if l.freshness is not null and l.key = o.lane then
      perform lane_freshen(o.lane, l.freshness, o.wanted);
    end if;

    loop
      t := case when l.key <> o.lane then aside_take(o) when (l.groups).queue_id is null then lane_take(o)
        else turns_take(o, l.groups) end;
      if t.claimed is not null then
        p.told := coalesce(p.told || ',', '') || t.claimed;
      end if;
      if t.jobs > 0 and l.limits @? '$[*].rate' then
        perform buckets_spend(array_agg(x.lock), array_agg(x.rate), array_agg(x.units * t.jobs))
           from jsonb_to_recordset(l.limits) as x (lock bigint, units int, rate jsonb) where x.rate is not null;
      end if;
      p.idle := case when t.jobs > 0 then 0 else p.idle + 1 end;
      p.room := p.room - t.jobs;
      p.bytes := greatest(p.bytes - t.bytes, 1);
      o.wanted := o.wanted - t.jobs;
      o.max_bytes := p.bytes;
      o.is_first := p.room = r."limit";
      -- with one job at a time, whose turn it is must be asked again
      p.stop := p.stop and t.jobs = 0 or t.stop or p.idle = 50 or (t.jobs = 0 and t.more and o.is_serial);
      exit when o.wanted <= 0 or not t.more or p.stop;
    end loop;
    exit when p.room <= 0 or p.stop;
  end loop;
  return p;
end $$;

-- groups_limited: whether what runs or starts of groups is limited, so that claims of one queue follow each other.
create or replace function groups_limited(g group_rules) returns boolean
language sql immutable parallel safe as $$
  select coalesce(g.has_own or g.most is not null or g.rate is not null or g.ordered is not null, false)
$$;
