-- How a user wants to be called; shown beside the name, which is the handle and never changes.
alter table auth.identity
  add column display_name text check (length(display_name) between 1 and 80);

alter table auth.org
  add column session_idle_seconds integer not null default 43200
    check (session_idle_seconds between 300 and 2592000);

-- What the dashboard keeps of a user's visits. Users who never visited have no row.
create table auth.visitor (
  org_id uuid not null,
  identity_id uuid not null,
  -- The last sign of the user in this visit, and in the one before.
  last_sign_at timestamptz,
  previous_visit_at timestamptz,
  checklist_dismissed_at timestamptz,
  primary key (org_id, identity_id),
  constraint visitor_identity_fkey foreign key (org_id, identity_id)
    references auth.identity (org_id, id)
);
