-- silenced_until: until when a rule of alerts tells nothing of a subject: the later of its own silence and that of the
-- subject, which stands with the options of the rule; null when neither was ever silenced.
create or replace function silenced_until(p_until timestamptz, p_options jsonb, p_subject text) returns timestamptz
language sql stable parallel safe as $$
  select greatest(p_until, (p_options #>> array['silences', p_subject, 'until'])::timestamptz)
$$;
