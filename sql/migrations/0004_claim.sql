-- Each transaction that changes what claims go by (options, pauses, lanes) notes its number here (rule_changed). The sum, the epoch, therefore
-- grows with every such transaction that commits, in whatever order they do. Upkeep adds old rows up.
create table rule_change (
  xid bigint primary key,
  n   numeric not null
);
insert into rule_change (xid, n) values (0, 0);

-- What a claim asked for, when that was plain under some epoch: one lane that nothing limits, to be claimed from by claim_express. Lane null: it was not.
create table express_lane (
  asked text primary key,
  lane  bigint,
  about text,
  lease float8,
  epoch numeric not null
);
