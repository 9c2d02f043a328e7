-- What callers hold of pools that are shared out over all executors (docs/adr/0046-fair-shares.md), until it
-- comes back by itself: bytes of files, and requests to people.
create table executor.share_use (
  id          uuid primary key,
  pool        text not null,
  org_id      uuid not null,
  user_id     uuid not null,
  identity_id uuid not null,
  amount      bigint not null,
  expires_at  timestamptz not null,
  constraint share_use_pool_is_known check (pool in ('files', 'requests'))
);
create index share_use_pool_org_id_idx on executor.share_use (pool, org_id);
create index share_use_expires_at_idx on executor.share_use (expires_at);
