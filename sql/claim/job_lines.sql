-- job_lines_00 to job_lines_31: what a claim needs of its jobs in one ring child, read along the index, so in the order
-- of their ids. One function per child: with all 32 in one plan, the first claim of a connection took 30 ms longer, and
-- every other its share.
do $do$
begin
  for i in 0 .. 31 loop
    execute format($function$
      create or replace function job_lines_%1$s(p_jobs bigint[]) returns job_lines
      language plpgsql as $body$
      declare
        r job_lines;
        v_least int;
        v_most int;
        v_tagged boolean;
      begin
        if cardinality(p_jobs) = 1 then  -- half the time of the other way
          select array[j.id], coalesce(j.input::text, 'null'), coalesce(octet_length(j.input::text), 0), j.start_by,
                 j.deadline, j.max_attempts, case when j.tagged then extras_text(j.extras, j.headers, j.source) end,
                 exists (select from amendment_%1$s where job_id = p_jobs[1]), j.linked
            into r.ids, r.inputs, r.bytes, r.start_by, r.deadline, r.max_attempts, r.extras, r.amended, r.linked
            from job_line_%1$s j where j.id = p_jobs[1];
          return r;
        end if;
        select array_agg(j.id), string_agg(coalesce(j.input::text, 'null'), ','), min(j.start_by), min(j.deadline),
               min(j.max_attempts), max(j.max_attempts), bool_or(j.tagged),
               exists (select from amendment_%1$s where job_id between min(j.id) and max(j.id))
          into r.ids, r.inputs, r.start_by, r.deadline, v_least, v_most, v_tagged, r.amended
          from (select * from job_line_%1$s where id = any (p_jobs) order by id) j;
        r.bytes := coalesce(octet_length(r.inputs), 0);
        r.max_attempts := v_least;
        if v_least <> v_most then
          r.max_attempts := '[' || (select string_agg(j.max_attempts::text, ',')
            from (select max_attempts from job_line_%1$s where id = any (p_jobs) order by id) j) || ']';
        end if;
        r.linked := false;
        if v_tagged then
          select string_agg(j.extras, ','), bool_or(j.linked) into r.extras, r.linked from (
            select case when tagged then extras_text(extras, headers, source) else 'null' end as extras, linked
              from job_line_%1$s where id = any (p_jobs) order by id) j;
        end if;
        return r;
      end $body$ $function$, lpad(i::text, 2, '0'));
  end loop;
  -- By eights: of a list of 32 calls each would be made ready in every transaction.
  execute 'create or replace function job_lines_read(p_slot smallint, p_jobs bigint[]) returns job_lines '
    || 'language plpgsql as $body$ begin '
    || (select string_agg(format('if p_slot < %s then return case p_slot %s end; end if; ', e.below, e.calls), ''
          order by e.below)
          from (select (i / 8 + 1) * 8 as below,
                       string_agg(format('when %s then job_lines_%s(p_jobs)', i, lpad(i::text, 2, '0')), ' ') as calls
                  from generate_series(0, 31) i group by i / 8) e)
    || ' end $body$';
end $do$;

-- jobs_bytes: what these jobs add to a claim, with the inputs they were given last; none for no jobs.
create or replace function jobs_bytes(p_jobs bigint[]) returns bigint
language plpgsql as $$
begin
  return (
    select coalesce(sum(job_bytes(case when m.replaced then m.input else j.input end,
      case when m.replaced then m.headers else j.headers end, j.payload)), 0)
      from unnest(p_jobs) u (id) join job j on j.slot = job_slot(u.id) and j.id = u.id
        left join amendment m on m.slot = job_slot(u.id) and m.job_id = u.id);
end $$;

-- jobs_that_fit: how many of these jobs, from the first on, together have no more bytes than that, with the inputs they
-- were given last.
create or replace function jobs_that_fit(p_jobs bigint[], p_max_bytes bigint) returns int
language plpgsql as $$
begin
  return (
    select count(*) filter (where sizes.upto <= p_max_bytes)
      from (select sum(job_bytes(case when m.replaced then m.input else j.input end,
        case when m.replaced then m.headers else j.headers end, j.payload)) over (order by u.i) as upto
              from unnest(p_jobs) with ordinality u (id, i) join job j on j.slot = job_slot(u.id) and j.id = u.id
              left join amendment m on m.slot = job_slot(u.id) and m.job_id = u.id) sizes);
end $$;
