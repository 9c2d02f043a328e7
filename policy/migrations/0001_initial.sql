-- Allow and deny rules. Deleted ones stay for a month, so that an approval's late event cannot
-- plant again what somebody has taken away.
create table policy.rule (
  id uuid primary key,
  org_id uuid not null,
  -- Null: the whole org.
  identity_id uuid,
  -- The user at the root of identity_id's chain.
  owner_id uuid,
  effect text not null,
  pattern text not null,
  exact boolean not null,
  service_id uuid,
  credential_id uuid,
  risk_at_least text,
  via text,
  created_by uuid not null,
  -- From the creator's user down to the creator; the tree of identities never changes.
  creator_chain uuid[] not null,
  -- Made by an admin on another user's subtree: changed and deleted by admins only.
  made_by_admin boolean not null,
  approval_id uuid,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  last_used_at timestamptz,
  use_count integer not null default 0,
  constraint rule_effect_known check (effect in ('allow', 'deny')),
  constraint rule_risk_known check (risk_at_least in ('read', 'write', 'delete')),
  constraint rule_via_known check (via in ('self')),
  constraint rule_identity_has_owner check ((identity_id is null) = (owner_id is null)),
  constraint rule_creator_ends_its_chain check (creator_chain[cardinality(creator_chain)] = created_by),
  -- An agent makes rules only by allowing a descendant's approval.
  constraint rule_of_agent_is_allow
    check (cardinality(creator_chain) = 1 or (effect = 'allow' and approval_id is not null)),
  constraint rule_approval_pattern_key unique (org_id, approval_id, pattern)
);
create index rule_org_id_identity_id_idx on policy.rule (org_id, identity_id)
  where deleted_at is null;
create index rule_org_id_id_idx on policy.rule (org_id, id desc) where deleted_at is null;

create table policy.outbox (
  id uuid primary key,
  org_id uuid not null,
  type text not null,
  body text not null,
  created_at timestamptz not null default now(),
  published_at timestamptz
);
create index outbox_unpublished_idx on policy.outbox (id) where published_at is null;
