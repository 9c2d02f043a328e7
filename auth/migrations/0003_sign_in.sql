alter table auth.org
  -- Names or software ids of OAuth clients that may be used; null: every client.
  add column oauth_client_allow_list text[];

-- Who may sign in with e-mail and password: beside the identity, because an e-mail address that a
-- provider tells is no name to sign in by.
create table auth.local_account (
  org_id uuid not null,
  identity_id uuid not null,
  email text not null check (length(email) <= 254),
  -- In PHC string form; null until the person has chosen one.
  password_hash text check (length(password_hash) <= 200),
  created_at timestamptz not null default now(),
  password_changed_at timestamptz,
  primary key (org_id, identity_id),
  constraint local_account_identity_fkey foreign key (org_id, identity_id)
    references auth.identity (org_id, id)
);
create unique index local_account_email_key on auth.local_account (org_id, lower(email));
create index local_account_email_idx on auth.local_account (lower(email));

-- How often somebody tried to sign in to an account, existing or not, since the last success.
create table auth.sign_in_attempt (
  -- SHA-256 of the account's name: what was typed there may be anything, a password too.
  account bytea primary key,
  attempts integer not null,
  last_at timestamptz not null,
  next_at timestamptz not null
);

alter table auth.session
  add column opened_by text not null default 'link'
    check (opened_by in ('link', 'password', 'provider'));

-- OpenID Connect providers that an org's admins set up; those of the environment are not stored.
create table auth.sign_in_provider (
  org_id uuid not null references auth.org (id),
  key text not null check (length(key) <= 63),
  name text not null,
  issuer text not null,
  client_id text not null,
  -- AES-256-GCM under SIGN_IN_KEY, bound to org and key; null for a public client.
  client_secret bytea,
  scopes text[] not null,
  allowed_email_domains text[] not null,
  allowed_groups text[] not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, key)
);

-- Who somebody is at a provider. Never found by e-mail address.
create table auth.provider_subject (
  org_id uuid not null,
  issuer text not null,
  subject text not null check (length(subject) <= 255),
  identity_id uuid not null,
  created_at timestamptz not null default now(),
  last_sign_in_at timestamptz not null default now(),
  primary key (org_id, issuer, subject),
  constraint provider_subject_identity_fkey foreign key (org_id, identity_id)
    references auth.identity (org_id, id)
);
create index provider_subject_identity_idx on auth.provider_subject (org_id, identity_id);

-- Sign-ins that a browser has begun and a provider has not answered yet.
create table auth.sign_in_flow (
  -- SHA-256 of the state parameter, and of the cookie of the browser that began.
  state_hash bytea primary key,
  browser_hash bytea not null,
  org_id uuid not null references auth.org (id),
  provider_key text not null,
  return_to text,
  expires_at timestamptz not null
);
