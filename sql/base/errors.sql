-- Reading the errors that attempts report.

-- error_member, error_message: parts of an error as it was reported: an object, or from SQL also a plain text. What is
-- longer than any honest message is cut, so that no pattern has much to do.
create or replace function error_member(p_error json, p_member text) returns text
language sql immutable parallel safe as $$
  select case when json_typeof(p_error) = 'object' then left(p_error ->> p_member, 200) end
$$;

create or replace function error_message(p_error json) returns text
language sql immutable parallel safe as $$
  select left(
    case json_typeof(p_error)
      when 'object' then coalesce(p_error ->> 'message', p_error::text)
      when 'null' then null
      else p_error #>> '{}' end,
    1000)
$$;

-- error_shape: a message with ? for quoted texts and # for words that have a digit, which numbers, ids, times and
-- addresses are, and for long hexadecimal ones.
create or replace function error_shape(p_message text) returns text
language sql immutable parallel safe as $$
  select regexp_replace(regexp_replace(regexp_replace(regexp_replace(left(p_message, 500),
    '(^|[^[:alnum:]])("[^"]*"|''[^'']*''|`[^`]*`)', '\1?', 'g'),
    '[[:alnum:]_-]*[0-9][[:alnum:]_-]*|\m[a-fA-F]{8,}\M', '#', 'g'),
    '#([.:,/+]+#)+', '#', 'g'),
    '\s+', ' ', 'g')
$$;

-- error_fingerprint: errors that differ in numbers, ids and quoted texts only have the same one: 16 hexadecimal digits
-- of name, code and message.
create or replace function error_fingerprint(p_error json) returns text
language sql immutable parallel safe as $$
  select lpad(to_hex(hashtextextended(coalesce(error_member(p_error, 'name'), '') || E'\n'
    || coalesce(error_member(p_error, 'code'), '') || E'\n'
    || coalesce(error_shape(error_message(p_error)), ''), 0)), 16, '0')
$$;
