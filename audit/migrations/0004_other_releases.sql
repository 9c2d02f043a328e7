-- Members that a later release added to a record, as JSON text. Null in older records, and then not
-- hashed.
alter table audit.record
  add column unread text;

-- What came as a record and could not be read, as it came. Its id is made from the content, so that
-- what is delivered again finds its row.
create table audit.unreadable (
  id uuid constraint unreadable_pkey primary key,
  -- Null when the org cannot be read either.
  org_id uuid,
  received_at timestamptz not null default now(),
  subject text not null,
  body bytea not null
);
create index unreadable_received_idx on audit.unreadable (received_at, id);

-- The rows of audit.unreadable that a later release has read and recorded.
create table audit.unreadable_recorded (
  unreadable_id uuid constraint unreadable_recorded_pkey primary key
    references audit.unreadable (id),
  recorded_at timestamptz not null default now()
);
