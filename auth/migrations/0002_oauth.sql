-- OAuth clients are the deployment's: they register before anybody has signed in.
create table auth.oauth_client (
  -- A UUID, the name of the seeded CLI client, or the https URL of a client-id metadata document.
  id text primary key check (length(id) <= 500),
  kind text not null check (kind in ('registered', 'metadata_document', 'seeded')),
  name text not null check (length(name) <= 200),
  software_id text check (length(software_id) <= 200),
  redirect_uris text[] not null,
  created_at timestamptz not null default now(),
  last_authorized_at timestamptz,
  -- Until when a metadata document counts as read; null for the other kinds.
  document_expires_at timestamptz
);
create index oauth_client_unauthorized_idx on auth.oauth_client (created_at)
 where last_authorized_at is null;

-- The client of `action-gateway login`: the only one that may act as the user itself.
insert into auth.oauth_client (id, kind, name, redirect_uris)
values ('action-gateway-cli', 'seeded', 'Action Gateway CLI', '{http://127.0.0.1/callback}');

-- Which agent a user's client acts as: made by the first consent, remembered after it.
create table auth.oauth_binding (
  org_id uuid not null,
  user_id uuid not null,
  client_id text not null references auth.oauth_client (id) on delete cascade,
  agent_id uuid not null,
  self_approve_enabled boolean not null default false,
  -- What was agreed to, with what that implies: asking for more shows the screen again.
  scopes text[] not null default '{}',
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  primary key (org_id, user_id, client_id),
  constraint oauth_binding_user_fkey foreign key (org_id, user_id)
    references auth.identity (org_id, id),
  constraint oauth_binding_agent_fkey foreign key (org_id, agent_id)
    references auth.identity (org_id, id)
);
create index oauth_binding_agent_idx on auth.oauth_binding (org_id, agent_id);

-- Clients that an org's admin has shut out of that org.
create table auth.oauth_client_revocation (
  org_id uuid not null references auth.org (id),
  client_id text not null references auth.oauth_client (id) on delete cascade,
  revoked_by uuid not null,
  revoked_at timestamptz not null default now(),
  primary key (org_id, client_id)
);

-- One authorization: who let which client act as whom. Everything issued hangs on it, so that
-- revoking it ends the whole chain at once.
create table auth.oauth_grant (
  id uuid primary key,
  org_id uuid not null,
  user_id uuid not null,
  -- The bound agent; the user itself for the seeded client.
  identity_id uuid not null,
  client_id text not null references auth.oauth_client (id) on delete cascade,
  scopes text[] not null,
  resource text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  constraint oauth_grant_org_id_id_key unique (org_id, id),
  constraint oauth_grant_user_fkey foreign key (org_id, user_id)
    references auth.identity (org_id, id),
  constraint oauth_grant_identity_fkey foreign key (org_id, identity_id)
    references auth.identity (org_id, id)
);
create index oauth_grant_identity_idx on auth.oauth_grant (org_id, identity_id);
create index oauth_grant_client_idx on auth.oauth_grant (org_id, user_id, client_id);

-- Codes, access tokens and refresh tokens. Only their SHA-256 is kept, here and in `payload`.
create table auth.oauth_token (
  hash bytea primary key,
  id uuid not null,
  kind text not null check (kind in ('code', 'access', 'refresh')),
  org_id uuid not null,
  grant_id uuid not null,
  -- How often the chain had been rotated when a refresh token was issued.
  generation integer not null default 0,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  consumed_at timestamptz,
  constraint oauth_token_grant_fkey foreign key (org_id, grant_id)
    references auth.oauth_grant (org_id, id) on delete cascade
);
create unique index oauth_token_id_key on auth.oauth_token (org_id, id);
create index oauth_token_grant_idx on auth.oauth_token (org_id, grant_id);
create index oauth_token_expiry_idx on auth.oauth_token (expires_at);

-- An authorization that waits for its user's decision on the consent screen.
create table auth.oauth_interaction (
  hash bytea primary key,
  org_id uuid not null,
  session_id uuid not null references auth.session (id) on delete cascade,
  client_id text not null references auth.oauth_client (id) on delete cascade,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index oauth_interaction_expiry_idx on auth.oauth_interaction (expires_at);
