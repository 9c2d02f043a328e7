-- What is known of a file in the object store; the store itself drops the bytes after their hour.
create table executor.file (
  id           uuid primary key,
  org_id       uuid not null,
  -- Who may download it: the caller and its ancestors.
  audience     uuid[] not null,
  chunks_id    text not null,
  name         text not null,
  content_type text not null,
  size         bigint not null,
  sha256       text not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null
);
create index file_expires_at_idx on executor.file (expires_at);
