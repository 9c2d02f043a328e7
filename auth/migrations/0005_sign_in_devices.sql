-- Browsers in which a user has signed in. Each has its own count of wrong passwords, so that
-- guesses made elsewhere cannot keep the user out.
create table auth.sign_in_device (
  -- SHA-256 of the browser's cookie.
  hash bytea not null,
  org_id uuid not null,
  identity_id uuid not null,
  expires_at timestamptz not null,
  primary key (hash, org_id, identity_id),
  constraint sign_in_device_identity_fkey foreign key (org_id, identity_id)
    references auth.identity (org_id, id)
);
create index sign_in_device_identity_idx on auth.sign_in_device (org_id, identity_id, expires_at);
create index sign_in_device_expires_at_idx on auth.sign_in_device (expires_at);
