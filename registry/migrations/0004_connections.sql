alter table registry.connected_service
  -- Reference of the connection for its OAuth schemes; tokens are the executor's alone.
  add column connection text check (connection ~ '^(org/)?[a-z][a-z0-9_-]{0,62}$');
