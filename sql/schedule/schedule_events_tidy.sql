-- schedule_events_tidy: keep the newest 10,000 events. Writes: schedule_event.
create or replace function schedule_events_tidy() returns void
language plpgsql as $$
begin
  delete from schedule_event where id = any (array(
    select id from schedule_event
     where id <= (select max(id) from schedule_event) - 10000
     order by id limit 10000 for update skip locked));
end $$;
