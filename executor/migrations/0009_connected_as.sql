-- When the person granted the access last. Null for grants of earlier releases.
alter table executor.connection add column granted_at timestamptz;
-- The name that the person gave the service. Null for requests that an earlier release closed.
alter table executor.person_request add column service_name text;
