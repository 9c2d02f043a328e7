-- What an org is known as at a provider. Without a definition the provider is one of those in
-- oauth-providers/; with one it is the org's own.
create table executor.oauth_app (
  id            uuid primary key,
  org_id        uuid not null,
  provider      text not null,
  -- Counts up with every change: the version that the secret is sealed for.
  version       int not null default 1,
  client_id     text not null,
  sealed_secret bytea,
  variables     jsonb not null default '{}',
  definition    jsonb,
  created_by    uuid not null,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  constraint oauth_app_org_id_provider_key unique (org_id, provider)
);

create table executor.connection (
  id                  uuid primary key,
  org_id              uuid not null,
  name                text not null,
  provider            text not null,
  template            text,
  tier                text not null,
  owner_id            uuid,
  status              text not null default 'pending',
  -- Whose account it is at the provider: a repair must not put another one in its place.
  account_id          text,
  account_label       text,
  granted_scopes      text[] not null default '{}',
  allowed_hosts       text[] not null default '{}',
  -- Counts up with every set of tokens: the version that they are sealed for.
  token_version       int not null default 0,
  sealed_tokens       bytea,
  -- Where these tokens came from, and the only address that their refresh token is sent to.
  token_url           text,
  expires_at          timestamptz,
  -- From when on a use of the token asks for the next one; null: never.
  refresh_at          timestamptz,
  last_refreshed_at   timestamptz,
  -- Committed before the provider is asked. One that is past and still here tells that somebody
  -- asked and that what was answered was never stored.
  refresh_lease       uuid,
  refresh_lease_until timestamptz,
  created_by          uuid not null,
  created_at          timestamptz not null default now(),
  updated_at          timestamptz not null default now(),
  constraint connection_tier_is_known check (tier in ('user', 'org')),
  constraint connection_has_owner_in_user_tier check ((tier = 'user') = (owner_id is not null)),
  constraint connection_status_is_known check (status in ('pending', 'active', 'needs_reauth', 'revoked')),
  constraint connection_active_has_tokens check (status <> 'active' or sealed_tokens is not null),
  constraint connection_revoked_has_none check (status <> 'revoked' or sealed_tokens is null),
  constraint connection_lease_has_end check ((refresh_lease is null) = (refresh_lease_until is null)),
  constraint connection_org_id_id_key unique (org_id, id)
);
-- A revoked connection leaves its name to the next one.
create unique index connection_org_id_name_idx on executor.connection (org_id, name)
  where tier = 'org' and status <> 'revoked';
create unique index connection_org_id_owner_id_name_idx on executor.connection (org_id, owner_id, name)
  where tier = 'user' and status <> 'revoked';

-- One attempt to get (more) access. It is asked for, begun by its owner in one browser session,
-- and answered once.
create table executor.connection_flow (
  id              uuid primary key,
  org_id          uuid not null,
  connection_id   uuid not null,
  provider        text not null,
  scopes          text[] not null,
  hosts           text[] not null,
  -- Who asked, as its owner will read it (an identity reference).
  asked_by        jsonb not null,
  created_at      timestamptz not null default now(),
  expires_at      timestamptz not null,
  app_id          uuid,
  app_version     int,
  state_hash      bytea,
  session_id      uuid,
  sealed_verifier bytea,
  answer_until    timestamptz,
  used_at         timestamptz,
  constraint connection_flow_state_hash_key unique (state_hash),
  constraint connection_flow_begun_is_whole check (num_nulls(state_hash, session_id, answer_until) in (0, 3)),
  constraint connection_flow_connection_fkey foreign key (org_id, connection_id)
    references executor.connection (org_id, id) on delete cascade
);
create index connection_flow_connection_id_idx on executor.connection_flow (connection_id);
create index connection_flow_expires_at_idx on executor.connection_flow (expires_at);
