-- OAuth clients are the deployment's: they register before anybody has signed in.
create table auth.oauth_client (
  -- A UUID, the name of the seeded CLI client, or the https URL of a client-id metadata document.
  id text primary key check (length(id) <= 2000),
  kind text not null check (kind in ('registered', 'metadata_document', 'seeded')),
  name text not null check (length(name) <= 200),
  software_id text check (length(software_id) <= 200),
  redirect_uris text[] not null,
  created_at timestamptz not null default now(),
  last_authorized_at timestamptz
);

-- Which agent a user's client acts as: made by the first consent, remembered after it.
create table auth.oauth_binding (
  org_id uuid not null,
  user_id uuid not null,
  client_id text not null references auth.oauth_client (id) on delete cascade,
  agent_id uuid not null,
  self_approve_enabled boolean not null default false,
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
