-- Base URLs that admins gave for services, in place of the server of a template.
create table policy.known_address (
  id uuid primary key,
  org_id uuid not null,
  base_url text not null,
  -- Null for what was stored before this table was there.
  given_by uuid,
  created_at timestamptz not null default now(),
  constraint known_address_key unique (org_id, base_url)
);
