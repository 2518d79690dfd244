-- control_compact: rewrite a small control table that an old snapshot keeps from being vacuumed. Any process may call
-- it. Copy the live rows, truncate, put them back: milliseconds, under a lock nobody waits for longer than 100 ms. One
-- table per call, so that no transaction holds two such locks. Returns its name, or null when there is nothing (more)
-- to do.
-- p_bound: dead rows before it is worth it. Raises: MR007.
create or replace function control_compact(p_bound bigint default 20000) returns text
language plpgsql security definer set search_path from current set jit = off set lock_timeout = '100ms' as $$
declare
  t record;
begin
  perform isolation_check('maintenance');
  begin  -- even asking for a table's size waits for a rewrite of it
    for t in
      select c.relname from pg_class c join pg_namespace s on s.oid = c.relnamespace
       where s.nspname = current_schema()
         and c.relname in ('lane_cursor', 'claim', 'agenda', 'tally', 'lane_depth', 'fingerprint', 'bucket',
           'suspended_tally', 'spare')
         and greatest(pg_stat_get_dead_tuples(c.oid),
                      pg_relation_size(c.oid) / 100 - pg_stat_get_live_tuples(c.oid)) > p_bound
       order by c.relname
    loop
      begin
        execute format('lock table %I in access exclusive mode', t.relname);
        if table_rewrite(t.relname) then
          return t.relname;
        end if;
      exception when lock_not_available or deadlock_detected then
        null;
      end;
    end loop;
  exception when lock_not_available then
    null;
  end;
  return null;
end $$;

-- table_rewrite: the rewrite itself, for a table the caller has locked; false when its live rows are too many to be
-- worth it.
create or replace function table_rewrite(p_table text) returns boolean
language plpgsql as $$
declare
  v_most constant int := 50000;
  k_cursors lane_cursor[]; k_claims claim[]; k_agenda agenda[]; k_tally tally[]; k_depth lane_depth[];
  k_fingerprints fingerprint[]; k_buckets bucket[]; k_suspended suspended_tally[]; k_spares spare[];
begin
  perform isolation_check('maintenance');  -- an older snapshot would bring back what has been deleted since
  case p_table
    when 'lane_cursor' then
      k_cursors := array(select x from lane_cursor x limit v_most);
      if cardinality(k_cursors) = v_most then return false; end if;
      truncate lane_cursor;
      insert into lane_cursor select (u).* from unnest(k_cursors) u;
    when 'claim' then
      k_claims := array(select x from claim x limit v_most);
      if cardinality(k_claims) = v_most then return false; end if;
      truncate claim;
      insert into claim select (u).* from unnest(k_claims) u;
    when 'agenda' then
      k_agenda := array(select x from agenda x limit v_most);
      if cardinality(k_agenda) = v_most then return false; end if;
      truncate agenda;
      perform set_config('millrace.rewriting', 'on', true);  -- what is suspended is counted already
      insert into agenda select (u).* from unnest(k_agenda) u;
      perform set_config('millrace.rewriting', '', true);
    when 'tally' then
      k_tally := array(select row(lane, sum(ready), sum(delayed), sum(staged))::tally from tally group by lane);
      truncate tally;
      insert into tally select (u).* from unnest(k_tally) u;
    when 'suspended_tally' then
      k_suspended := array(select row(lane, sum(n))::suspended_tally from suspended_tally group by lane);
      truncate suspended_tally;
      insert into suspended_tally select (u).* from unnest(k_suspended) u;
    when 'lane_depth' then
      k_depth := array(select x from lane_depth x);
      truncate lane_depth;
      insert into lane_depth select (u).* from unnest(k_depth) u;
    when 'fingerprint' then
      k_fingerprints := array(select x from fingerprint x limit v_most);
      if cardinality(k_fingerprints) = v_most then return false; end if;
      truncate fingerprint;
      insert into fingerprint select (u).* from unnest(k_fingerprints) u;
    when 'bucket' then
      k_buckets := array(select x from bucket x limit v_most);
      if cardinality(k_buckets) = v_most then return false; end if;
      truncate bucket;
      insert into bucket select (u).* from unnest(k_buckets) u;
    when 'spare' then
      k_spares := array(select x from spare x limit v_most);
      if cardinality(k_spares) = v_most then return false; end if;
      truncate spare;
      insert into spare select (u).* from unnest(k_spares) u;
  end case;
  return true;
end $$;
