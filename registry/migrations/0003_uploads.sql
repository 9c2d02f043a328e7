-- Documents on their way to an import, in parts. Gone an hour after they were begun.
create table registry.upload (
  id uuid primary key,
  org_id uuid not null,
  owner_id uuid not null,
  -- Bytes of UTF-8.
  size integer not null check (size > 0),
  expires_at timestamptz not null,
  -- The import that began last and how far it is, as JSON, while it runs. One that dies ends nothing:
  -- it is over when it has not been seen for a while.
  import_id uuid,
  import_progress jsonb,
  import_seen_at timestamptz,
  constraint upload_import_whole
    check (num_nulls(import_id, import_progress, import_seen_at) in (0, 3))
);
create index upload_owner_idx on registry.upload (org_id, owner_id);
create index upload_expires_idx on registry.upload (expires_at);

create table registry.upload_part (
  id uuid primary key,
  upload_id uuid not null references registry.upload (id) on delete cascade,
  org_id uuid not null,
  position integer not null,
  text text not null,
  constraint upload_part_position_key unique (upload_id, position)
);
