-- Templates that users and orgs bring themselves; built-in ones are files. Never deleted
-- altogether: version numbers must not come again, because others keep versions by number.
create table registry.template (
  id uuid primary key,
  org_id uuid not null,
  tier text not null check (tier in ('user', 'org')),
  -- The user, or the org itself.
  owner_id uuid not null,
  key text not null check (key ~ '^[a-z][a-z0-9_-]{0,62}$'),
  -- Saved last.
  version integer not null check (version > 0),
  -- What is connected and found; null while it is a draft.
  published_version integer check (published_version between 1 and version),
  is_disabled boolean not null default false,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint template_name_key unique (org_id, tier, owner_id, key),
  constraint template_org_owns_its_own check ((tier = 'org') = (owner_id = org_id))
);

alter table registry.template_version
  -- The compiled template without its actions, as JSON: what lists show, and hosts are looked up in.
  add column outline text,
  -- As its author wrote it; null for built-in templates, which are files.
  add column document text,
  -- What changed since the version before, as JSON.
  add column difference text,
  add column source_url text,
  add column created_by uuid;
-- Only built-in templates are numbered by content; saving the same text again is a new version.
alter table registry.template_version drop constraint template_version_content_key;
create unique index template_version_built_in_content_idx
    on registry.template_version (key, content_hash)
 where tier = 'global';

alter table registry.connected_service
  add column is_disabled boolean not null default false,
  -- What the address was made from, for the next version of the template.
  add column variables jsonb not null default '{}',
  add column is_base_url_given boolean not null default false;
create index connected_service_template_idx
    on registry.connected_service (org_id, template_tier, template_owner_id, template_key);
