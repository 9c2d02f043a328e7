-- A text sealed with the newest key-encryption key at the first start: proves at every later start
-- that MASTER_KEY is the one this vault was made with.
create table executor.key_check (
  id         int primary key default 1,
  master_key text not null,
  sealed     bytea not null,
  created_at timestamptz not null default now(),
  constraint key_check_is_one_row check (id = 1)
);

-- One data key per org, wrapped by the key-encryption key that master_key names.
create table executor.data_key (
  org_id     uuid primary key,
  master_key text not null,
  wrapped    bytea not null,
  created_at timestamptz not null default now()
);

create table executor.secret (
  id              uuid primary key,
  org_id          uuid not null,
  name            text not null,
  tier            text not null,
  owner_id        uuid,
  description     text,
  current_version int not null default 1,
  allowed_hosts   text[] not null default '{}',
  created_by      uuid not null,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  constraint secret_tier_is_known check (tier in ('user', 'org')),
  constraint secret_has_owner_in_user_tier check ((tier = 'user') = (owner_id is not null)),
  constraint secret_org_id_id_key unique (org_id, id)
);
create unique index secret_org_id_name_idx on executor.secret (org_id, name) where tier = 'org';
create unique index secret_org_id_owner_id_name_idx on executor.secret (org_id, owner_id, name) where tier = 'user';

create table executor.secret_version (
  org_id     uuid not null,
  secret_id  uuid not null,
  version    int not null,
  sealed     bytea not null,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  primary key (secret_id, version),
  constraint secret_version_secret_fkey foreign key (org_id, secret_id)
    references executor.secret (org_id, id) on delete cascade
);

-- What makes "at most once" true: a row is committed before the first byte of any non-read.
-- audit and outcome are JSON kept as text: an upstream's answer may hold U+0000, which jsonb refuses.
create table executor.dispatch (
  dispatch_id text primary key,
  org_id      uuid not null,
  identity_id uuid not null,
  call_digest text not null,
  audit_id    uuid not null,
  audit       text not null,
  audience    uuid[] not null,
  lease_token uuid not null,
  lease_until timestamptz not null,
  outcome     text,
  created_at  timestamptz not null default now(),
  finished_at timestamptz,
  constraint dispatch_outcome_has_time check ((outcome is null) = (finished_at is null))
);
create index dispatch_lease_until_idx on executor.dispatch (lease_until) where outcome is null;
create index dispatch_created_at_idx on executor.dispatch (created_at);

create table executor.idempotency (
  org_id      uuid not null,
  identity_id uuid not null,
  key_digest  text not null,
  call_digest text not null,
  dispatch_id text,
  approval_id uuid,
  created_at  timestamptz not null default now(),
  primary key (org_id, identity_id, key_digest),
  constraint idempotency_has_dispatch_or_approval check (num_nonnulls(dispatch_id, approval_id) > 0)
);
create index idempotency_created_at_idx on executor.idempotency (created_at);

create table executor.outbox (
  id           uuid primary key,
  org_id       uuid not null,
  type         text not null,
  body         text not null,
  created_at   timestamptz not null default now(),
  published_at timestamptz
);
create index outbox_unpublished_idx on executor.outbox (id) where published_at is null;
