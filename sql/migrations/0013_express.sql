-- What a claim asked for, when that was plain under some epoch: few lanes that nothing limits, to be claimed from by
-- claim_express, in the order of their keys. Lanes null: it was not. What was learned before is learned again.
drop table express_lane;
create table express_lane (
  asked      text primary key,
  lanes      bigint[],
  priorities int[],
  abouts     text[],
  leases     float8[],
  epoch      numeric not null
);
