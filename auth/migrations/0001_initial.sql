create table auth.org (
  id uuid primary key,
  name text not null,
  approval_ttl_seconds integer not null default 86400 check (approval_ttl_seconds > 0),
  auto_bubble_seconds integer not null default 300 check (auto_bubble_seconds >= 0),
  remember_ttl_seconds integer not null default 2592000 check (remember_ttl_seconds > 0),
  self_remember_max_seconds integer not null default 86400 check (self_remember_max_seconds > 0),
  durable_read_audit boolean not null default false,
  created_at timestamptz not null default now(),
  constraint org_name_key unique (name)
);

-- Users, agents and subagents. parent_id and lineage never change.
create table auth.identity (
  id uuid primary key,
  org_id uuid not null references auth.org (id),
  kind text not null check (kind in ('user', 'agent', 'subagent')),
  name text not null,
  parent_id uuid,
  owner_id uuid not null,
  depth smallint not null check (depth between 0 and 8),
  -- Ids from its user down to itself: the chain without a recursive walk, the subtree by one index.
  lineage uuid[] not null,
  inherit_permissions boolean not null default false,
  auto_call_on_approve boolean not null default true,
  status text not null default 'active' check (status in ('active', 'archived', 'revoked')),
  role text check (role in ('admin', 'member', 'auditor')),
  email text,
  created_by uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_active_at timestamptz,
  last_sign_in_at timestamptz,
  constraint identity_org_id_id_key unique (org_id, id),
  constraint identity_parent_fkey foreign key (org_id, parent_id) references auth.identity (org_id, id),
  constraint identity_owner_fkey foreign key (org_id, owner_id) references auth.identity (org_id, id),
  constraint identity_kind_fits_depth check (
    (kind = 'user') = (depth = 0) and (kind = 'agent') = (depth = 1)
  ),
  constraint identity_lineage_fits check (
    cardinality(lineage) = depth + 1
    and lineage[1] = owner_id
    and lineage[depth + 1] = id
    and lineage[depth] is not distinct from parent_id
  ),
  constraint identity_only_users_have_roles check ((kind = 'user') = (role is not null)),
  constraint identity_only_users_sign_in check (
    kind = 'user' or (email is null and last_sign_in_at is null)
  ),
  constraint identity_only_subagents_inherit check (kind = 'subagent' or not inherit_permissions)
);
create unique index identity_live_name_key
    on auth.identity (org_id, parent_id, name) nulls not distinct
 where status <> 'revoked';
create index identity_lineage_idx on auth.identity using gin (lineage);

create table auth.agent_key (
  id uuid primary key,
  org_id uuid not null,
  identity_id uuid not null,
  name text not null,
  -- SHA-256: the key holds 256 random bits, so a slow hash would protect nothing more.
  hash bytea not null,
  hint text not null,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  constraint agent_key_hash_key unique (hash),
  constraint agent_key_identity_fkey foreign key (org_id, identity_id)
    references auth.identity (org_id, id)
);
create index agent_key_identity_idx on auth.agent_key (org_id, identity_id);

create table auth.session (
  id uuid primary key,
  org_id uuid not null,
  identity_id uuid not null,
  hash bytea not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  ip text,
  user_agent text,
  constraint session_hash_key unique (hash),
  constraint session_identity_fkey foreign key (org_id, identity_id)
    references auth.identity (org_id, id)
);
create index session_identity_idx on auth.session (org_id, identity_id);

create table auth.sign_in_link (
  id uuid primary key,
  org_id uuid not null,
  identity_id uuid not null,
  hash bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  consumed_at timestamptz,
  constraint sign_in_link_hash_key unique (hash),
  constraint sign_in_link_identity_fkey foreign key (org_id, identity_id)
    references auth.identity (org_id, id)
);

create table auth.outbox (
  id uuid primary key,
  org_id uuid not null,
  type text not null,
  body text not null,
  created_at timestamptz not null default now(),
  published_at timestamptz
);
create index outbox_unpublished_idx on auth.outbox (id) where published_at is null;
