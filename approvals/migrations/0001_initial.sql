-- Grows with every claim of an execution: a holder whose fence is not the row's any more has lost it.
create sequence approvals.execution_fence;

create table approvals.approval (
  id uuid primary key,
  org_id uuid not null,
  status text not null,
  requester_id uuid not null,
  -- The user at the root of the requester's chain.
  user_id uuid not null,
  -- The agent in whose subtree the requester is: the second limit on open approvals counts by it.
  subtree_id uuid not null,
  -- The user first, the requester last.
  chain uuid[] not null,
  -- Whom we notify; any ancestor may resolve.
  resolver_id uuid not null,
  ladder jsonb not null,
  auto_bubble_seconds integer not null,
  -- When it moves up by itself; null at the top, and where the org has switched that off.
  bubble_at timestamptz,
  placement_id uuid not null,
  service text not null,
  service_id uuid,
  credential_id uuid,
  risk text not null,
  non_read boolean not null,
  call_digest text not null,
  request_digest text not null,
  timeout_ms integer not null,
  auto_call_on_approve boolean not null,
  -- What is shown and never queried, as JSON text: it may hold what jsonb refuses (NUL, lone surrogates).
  card text not null,
  -- Policy's signed gap and the vault's sealed call, erased at the end state.
  gap text,
  sealed_call text,
  reason text,
  resolution text,
  resolved_by jsonb,
  resolved_by_id uuid,
  resolved_at timestamptz,
  -- The approval whose remembered rule decided this one too.
  cascaded_from uuid,
  -- When the requester's chain was last seen active.
  chain_checked_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint approval_org_id_id_key unique (org_id, id),
  constraint approval_status_known
    check (status in ('pending', 'bubbled', 'allowed', 'denied', 'expired')),
  constraint approval_resolution_known check (resolution in ('allow', 'allow_remember', 'deny')),
  constraint approval_risk_known check (risk in ('read', 'write', 'delete')),
  constraint approval_closed_has_time
    check ((status in ('pending', 'bubbled')) = (resolved_at is null)),
  constraint approval_allowed_has_resolver
    check (status <> 'allowed'
           or (resolved_by_id is not null and resolution in ('allow', 'allow_remember'))),
  constraint approval_open_has_call
    check (status not in ('pending', 'bubbled') or (gap is not null and sealed_call is not null)),
  constraint approval_closed_is_erased
    check (status not in ('denied', 'expired') or (gap is null and sealed_call is null)),
  constraint approval_chain_ends_with_requester check (chain[array_upper(chain, 1)] = requester_id)
);

-- An identical call of the same requester has one open approval.
create unique index approval_open_call_key on approvals.approval (org_id, requester_id, call_digest)
 where status in ('pending', 'bubbled');
create index approval_requester_id_call_digest_idx
    on approvals.approval (org_id, requester_id, call_digest, id desc);
create index approval_subtree_id_idx on approvals.approval (org_id, subtree_id)
 where status in ('pending', 'bubbled');
create index approval_org_id_idx on approvals.approval (org_id, id desc);
create index approval_user_id_idx on approvals.approval (org_id, user_id, id desc);
create index approval_placement_id_idx on approvals.approval (org_id, placement_id)
 where status in ('pending', 'bubbled');
create index approval_expires_at_idx on approvals.approval (expires_at)
 where status in ('pending', 'bubbled');
create index approval_bubble_at_idx on approvals.approval (bubble_at)
 where status in ('pending', 'bubbled') and bubble_at is not null;
create index approval_chain_checked_at_idx on approvals.approval (chain_checked_at)
 where status in ('pending', 'bubbled');

create table approvals.execution (
  id uuid primary key,
  org_id uuid not null,
  approval_id uuid not null,
  status text not null,
  runtime text not null,
  -- Replayed in the background; otherwise the requester or an ancestor runs it.
  automatic boolean not null,
  triggered_by text,
  fence bigint,
  -- Until then the holder works on it, or, after a refusal that is no end, nobody asks again.
  lease_until timestamptz,
  attempts integer not null default 0,
  -- Since then the executor may have sent it: from then on the only other end is an answer, or outcome_unknown.
  asked_at timestamptz,
  http_status_code integer,
  -- JSON text, for the same reason as approval.card.
  result text,
  error text,
  audit_id uuid,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz not null,
  constraint execution_approval_id_key unique (approval_id),
  constraint execution_approval_id_fkey
    foreign key (org_id, approval_id) references approvals.approval (org_id, id),
  constraint execution_status_known
    check (status in ('pending', 'executing', 'executed', 'failed', 'cancelled', 'expired')),
  constraint execution_trigger_known check (triggered_by in ('user', 'agent', 'auto')),
  constraint execution_executing_has_lease
    check (status <> 'executing'
           or (fence is not null and lease_until is not null and started_at is not null)),
  constraint execution_ended_has_time
    check ((status in ('pending', 'executing')) = (finished_at is null)),
  constraint execution_executed_has_result
    check ((status = 'executed') = (result is not null and http_status_code is not null)),
  constraint execution_failed_has_error check ((status = 'failed') = (error is not null))
);

create index execution_pending_idx on approvals.execution (created_at)
 where status = 'pending' and automatic;
create index execution_expires_at_idx on approvals.execution (expires_at) where status = 'pending';
create index execution_lease_until_idx on approvals.execution (lease_until)
 where status = 'executing';

create table approvals.outbox (
  id uuid primary key,
  org_id uuid not null,
  type text not null,
  body text not null,
  created_at timestamptz not null default now(),
  published_at timestamptz
);
create index outbox_unpublished_idx on approvals.outbox (id) where published_at is null;
