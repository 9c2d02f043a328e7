-- Tools of the MCP server behind a connected service: what it offers, and what a person accepted.
create table registry.service_tool (
  id uuid primary key,
  org_id uuid not null,
  service_id uuid not null references registry.connected_service (id) on delete cascade,
  name text not null,
  -- Definitions as JSON text, with their SHA-256. Null: the server has no such tool any more.
  offered_hash text,
  offered text,
  -- Null: nobody accepted it yet.
  accepted_hash text,
  accepted text,
  -- Why what is offered cannot be used.
  problem text,
  constraint service_tool_name_key unique (service_id, name),
  constraint service_tool_offered_whole check (num_nulls(offered_hash, offered) in (0, 2)),
  constraint service_tool_accepted_whole check (num_nulls(accepted_hash, accepted) in (0, 2))
);

-- What may be called, counted up with every change of it. Never updated: calls, approvals and
-- caches of other components name one by its version.
create table registry.toolset (
  id uuid primary key,
  org_id uuid not null,
  service_id uuid not null references registry.connected_service (id) on delete cascade,
  version integer not null check (version > 0),
  -- Compiled tools and the revision of the protocol, as JSON text.
  content text not null,
  created_at timestamptz not null default now(),
  constraint toolset_version_key unique (service_id, version)
);

alter table registry.connected_service
  -- Null for services that are no MCP servers.
  add column toolset_version integer check (toolset_version > 0),
  -- When its server was last asked for its tools, and what went wrong, as an error code.
  add column tools_asked_at timestamptz,
  add column tools_error text;
create index connected_service_tools_asked_at_idx
    on registry.connected_service (tools_asked_at)
 where toolset_version is not null;
