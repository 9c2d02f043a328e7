-- How high whoever archived it stands: -1 an admin of the org, else the depth of the ancestor.
-- Nobody below that restores it. Null unless archived.
alter table auth.identity add column archived_rank smallint;

-- An archived agent or subagent gives its name up: a new one may take it. A user keeps it.
drop index auth.identity_live_name_key;
create unique index identity_active_name_key
    on auth.identity (org_id, parent_id, name)
 where kind <> 'user' and status = 'active';
create unique index identity_user_name_key
    on auth.identity (org_id, parent_id, name) nulls not distinct
 where kind = 'user' and status <> 'revoked';

-- What policy asks on the way of every call: whose clients decide for themselves.
create index oauth_binding_self_approving_idx on auth.oauth_binding (org_id, agent_id)
 where self_approve_enabled;
