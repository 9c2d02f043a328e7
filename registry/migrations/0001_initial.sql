-- Compiled templates, one row per content: what a service was connected with stays readable
-- however the file changes later. Never updated. org_id is null for built-in templates.
create table registry.template_version (
  id uuid primary key,
  org_id uuid,
  tier text not null check (tier in ('user', 'org', 'global')),
  owner_id uuid,
  key text not null,
  version integer not null check (version > 0),
  -- SHA-256 of the compiled template without its version.
  content_hash text not null,
  -- Text, not jsonb: the order of parameters is part of what agents read.
  compiled text not null,
  created_at timestamptz not null default now(),
  constraint template_version_key unique nulls not distinct (tier, owner_id, key, version),
  constraint template_version_content_key unique nulls not distinct (tier, owner_id, key, content_hash),
  constraint template_version_global_has_no_org check ((tier = 'global') = (org_id is null)),
  constraint template_version_global_has_no_owner check ((tier = 'global') = (owner_id is null))
);

create table registry.connected_service (
  id uuid primary key,
  org_id uuid not null,
  tier text not null check (tier in ('user', 'org')),
  -- The user it belongs to; null for the org's.
  owner_id uuid,
  name text not null check (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
  template_key text not null,
  template_tier text not null check (template_tier in ('user', 'org', 'global')),
  template_owner_id uuid,
  template_version integer not null check (template_version > 0),
  title text not null,
  base_url text not null,
  hosts text[] not null check (cardinality(hosts) between 1 and 50),
  auto_allow_reads boolean not null,
  -- Secret references by security scheme; values are the executor's alone.
  secrets jsonb not null,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint connected_service_name_key unique nulls not distinct (org_id, owner_id, name),
  constraint connected_service_org_has_no_owner check ((tier = 'org') = (owner_id is null))
);
create index connected_service_hosts_idx on registry.connected_service using gin (hosts);

create table registry.outbox (
  id uuid primary key,
  org_id uuid not null,
  type text not null,
  body text not null,
  created_at timestamptz not null default now(),
  published_at timestamptz
);
create index outbox_unpublished_idx on registry.outbox (id) where published_at is null;
