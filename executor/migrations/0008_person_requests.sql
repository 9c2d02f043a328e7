-- What an agent or a user asks a person for. requester and chain_ids say who asked, as its chain was
-- then; audience also has those who asked for the same later, with their chains.
create table executor.person_request (
  id             uuid primary key,
  org_id         uuid not null,
  kind           text not null,
  status         text not null default 'open',
  requester_id   uuid not null,
  requester      jsonb not null,
  user_id        uuid not null,
  chain_ids      uuid[] not null,
  audience       uuid[] not null,
  also_asked_by  jsonb not null default '[]',
  tier           text not null,
  template_key   text,
  template_title text,
  name           text not null,
  actions        text[] not null default '{}',
  scopes         text[] not null default '{}',
  hosts          text[] not null default '{}',
  reason         text,
  -- The account that a request of kind connection is about.
  connection_id  uuid,
  service_id     uuid,
  created_at     timestamptz not null default now(),
  expires_at     timestamptz not null,
  closed_at      timestamptz,
  decided_by     jsonb,
  decline_reason text,
  constraint person_request_kind_is_known check (kind in ('service', 'connection', 'secret')),
  constraint person_request_status_is_known
    check (status in ('open', 'ready', 'declined', 'expired', 'cancelled')),
  constraint person_request_tier_is_known check (tier in ('user', 'org')),
  constraint person_request_closed_has_time check ((status = 'open') = (closed_at is null)),
  constraint person_request_service_has_template check (kind <> 'service' or template_key is not null),
  constraint person_request_connection_has_id check (kind <> 'connection' or connection_id is not null)
);
create unique index person_request_open_service_idx
  on executor.person_request (org_id, user_id, tier, template_key, name)
  where kind = 'service' and status = 'open';
create index person_request_org_id_user_id_idx on executor.person_request (org_id, user_id, created_at);
create index person_request_audience_idx on executor.person_request using gin (audience);
create index person_request_open_expires_at_idx on executor.person_request (expires_at)
  where status = 'open';
create index person_request_closed_at_idx on executor.person_request (closed_at)
  where status <> 'open';
