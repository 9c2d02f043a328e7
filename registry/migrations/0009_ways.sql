-- The security schemes of the alternative by which the service is connected. Null for services that
-- were connected before this was kept.
alter table registry.connected_service add column schemes text[];
