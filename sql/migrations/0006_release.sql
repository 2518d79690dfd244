-- What callback tokens are made with (token_mac): two keys by chance, which nobody reads but the functions that make
-- and check tokens. Other keys make all tokens void that were given out.
create table token_secret (
  only_row  boolean primary key default true check (only_row),
  inner_key bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
  outer_key bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
insert into token_secret default values;
