-- Templates by which calls may be decided: what was shipped, and what people published. The registry
-- hands templates out; a version that is not here is not believed. Written by whoever migrates
-- (built-in ones) and for signed principals; never updated, never deleted.
create table policy.known_template (
  id uuid primary key,
  -- Null for built-in templates.
  org_id uuid,
  tier text not null check (tier in ('user', 'org', 'global')),
  owner_id uuid,
  key text not null,
  -- Null for built-in templates: their numbers are the registry's, and one content has one digest.
  version integer check (version > 0),
  digest text not null check (length(digest) = 64),
  -- Who published it; null for what was shipped, or was stored before this table was there.
  published_by uuid,
  created_at timestamptz not null default now(),
  constraint known_template_key
    unique nulls not distinct (org_id, tier, owner_id, key, version, digest),
  constraint known_template_global_has_no_org check ((tier = 'global') = (org_id is null)),
  constraint known_template_global_has_no_owner check ((tier = 'global') = (owner_id is null)),
  constraint known_template_global_has_no_version check ((tier = 'global') = (version is null))
);
