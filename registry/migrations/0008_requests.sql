-- The request that a service answers: at most one service does.
alter table registry.connected_service add column request_id uuid;
create unique index connected_service_org_id_request_id_idx
  on registry.connected_service (org_id, request_id) where request_id is not null;
