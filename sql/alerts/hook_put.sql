-- hook_put: where alerts may be sent to: an address that begins with https:// or http://, and a secret that what is
-- sent is signed with (docs/alerts.md). Without a secret a new hook gets one, and an old one keeps its own. There are
-- twenty at most. Returns {"secret"} when one was made, else {}: it is never shown again. Writes: hook, alert_event,
-- and the queue "millrace.alerts". Raises: MR001.
create or replace function hook_put(p_name text, p_url text, p_secret text default null, p_by text default null)
  returns json
language plpgsql security definer set search_path from current set jit = off as $$
declare
  v_old constant text := (select secret from hook where name = p_name);
  v_made text;
begin
  if p_name is null or p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
    perform raise_error('MR001', format('"%s" cannot name a web hook', left(p_name, 100)),
      'use 1 to 100 letters, digits, and _ . : -, beginning with a letter or digit');
  elsif p_url is null or length(p_url) > 2000 or p_url !~ '^https?://[^/?#[:space:]@]+([/?#][^[:space:]]*)?$' then
    perform raise_error('MR001', 'this address cannot be a web hook',
      'give one that begins with https:// or http://, without a user, of at most 2000 characters');
  elsif p_secret is not null and length(p_secret) not between 16 and 200 then
    perform raise_error('MR001', 'a secret has 16 to 200 characters', 'leave it out to get one');
  elsif v_old is null and (select count(*) >= 20 from hook) then
    perform raise_error('MR001', 'there are twenty web hooks already', 'remove one');
  end if;
  perform note_check(p_by, null);
  if p_secret is null and v_old is null then
    v_made := 'whsec_' || encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'base64');
  end if;
  insert into hook values (p_name, p_url, coalesce(p_secret, v_old, v_made), p_by, clock_now())
  on conflict (name) do update set url = excluded.url, secret = excluded.secret, put_by = excluded.put_by,
    put_at = excluded.put_at;
  if not exists (select from queue where name = 'millrace.alerts') then
    perform queue_put('millrace.alerts', '{}');
  end if;
  perform alert_event_add('hook put', p_name, null, null, null, p_by);
  return json_strip_nulls(json_build_object('secret', v_made));
end $$;

-- hook_found: the web hook of this name. Raises: MR024.
create or replace function hook_found(p_name text) returns hook
language plpgsql as $$
declare
  h hook;
begin
  select * into h from hook where name = p_name;
  if not found then
    perform raise_error('MR024', format('there is no web hook "%s"', left(p_name, 100)),
      'web hooks are in the view "hooks"');
  end if;
  return h;
end $$;
