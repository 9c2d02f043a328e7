-- An event goes to two streams. Rows of before that have `published_at` are in both.
alter table executor.outbox add column recorded_at timestamptz;

drop index executor.outbox_unpublished_idx;
create index outbox_unrecorded_idx on executor.outbox (id)
  where recorded_at is null and published_at is null;
create index outbox_unannounced_idx on executor.outbox (id)
  where recorded_at is not null and published_at is null;
create index outbox_published_at_idx on executor.outbox (published_at)
  where published_at is not null;

-- The streams as the relay knows them. One with another incarnation is new, and the rows after
-- repeat_after, up to repeat_until, are published to it again.
create table executor.relayed_stream (
  name text primary key,
  incarnation text not null,
  repeat_after uuid,
  repeat_until uuid
);
