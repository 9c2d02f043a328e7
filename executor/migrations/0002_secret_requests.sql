-- One-time links on which a person enters a secret that somebody asked for. Of the token only its
-- SHA-256 is here. requested_by and audience say who asked, as its chain was then.
create table executor.secret_request (
  id            uuid primary key,
  org_id        uuid not null,
  name          text not null,
  tier          text not null,
  owner_id      uuid,
  reason        text,
  allowed_hosts text[] not null,
  requester_id  uuid not null,
  requested_by  jsonb not null,
  audience      uuid[] not null,
  token_hash    bytea not null,
  created_at    timestamptz not null default now(),
  expires_at    timestamptz not null,
  provided_at   timestamptz,
  provided_by   uuid,
  constraint secret_request_tier_is_known check (tier in ('user', 'org')),
  constraint secret_request_has_owner_in_user_tier check ((tier = 'user') = (owner_id is not null)),
  constraint secret_request_token_hash_key unique (token_hash),
  constraint secret_request_provided_by_somebody check ((provided_at is null) = (provided_by is null))
);
create index secret_request_open_idx on executor.secret_request (org_id, requester_id, expires_at)
  where provided_at is null;
create index secret_request_expires_at_idx on executor.secret_request (expires_at);
