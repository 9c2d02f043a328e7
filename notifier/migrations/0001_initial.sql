create table notifier.outbox (
  id uuid primary key,
  org_id uuid not null,
  type text not null,
  body text not null,
  created_at timestamptz not null default now(),
  published_at timestamptz
);
create index outbox_unpublished_idx on notifier.outbox (id) where published_at is null;

create table notifier.inbox (
  event_id uuid primary key,
  received_at timestamptz not null default now()
);
create index inbox_received_at_idx on notifier.inbox (received_at);

-- What SSE readers resume from. Positions are handed out under a lock, so that a reader who has
-- seen one has seen every smaller one that will ever exist.
create table notifier.feed_item (
  position integer generated always as identity primary key,
  org_id uuid not null,
  type text not null,
  audience uuid[] not null,
  body text not null,
  created_at timestamptz not null default now()
);
create index feed_item_org_id_position_idx on notifier.feed_item (org_id, position);
create index feed_item_created_at_idx on notifier.feed_item (created_at);

create table notifier.webhook (
  id uuid primary key,
  org_id uuid not null,
  -- Null: the whole org. Otherwise only events whose audience holds this identity.
  subtree_of uuid,
  url text not null,
  events text[] not null,
  description text,
  status text not null default 'pending_verification'
    constraint webhook_status_known check (status in ('pending_verification', 'active', 'disabled')),
  disabled_reason text,
  challenge text not null,
  failing_since timestamptz,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  constraint webhook_disabled_has_reason check ((status = 'disabled') = (disabled_reason is not null))
);
create index webhook_org_id_idx on notifier.webhook (org_id, id);

create table notifier.delivery (
  id uuid primary key,
  org_id uuid not null,
  webhook_id uuid not null references notifier.webhook (id) on delete cascade,
  event_id uuid not null,
  type text not null,
  body text not null,
  status text not null
    constraint delivery_status_known check (status in ('held', 'pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  -- Whoever claimed the attempt under way has until then; afterwards somebody else may try.
  lease_until timestamptz,
  last_status_code integer,
  last_error text,
  created_at timestamptz not null default now(),
  delivered_at timestamptz,
  constraint delivery_once_per_event unique (webhook_id, event_id),
  constraint delivery_pending_has_next_attempt check (status <> 'pending' or next_attempt_at is not null)
);
create index delivery_due_idx on notifier.delivery (next_attempt_at) where status = 'pending';
create index delivery_webhook_id_idx on notifier.delivery (webhook_id, id);
create index delivery_created_at_idx on notifier.delivery (created_at);
