-- Set when the requester decided for itself: by which OAuth client, whose switch must still be on
-- when the call is replayed.
alter table approvals.approval add column resolved_by_client_id text;
alter table approvals.approval add constraint approval_client_decides_for_requester
  check (resolved_by_client_id is null or resolved_by_id = requester_id);
