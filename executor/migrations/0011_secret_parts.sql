-- The parts of the wanted secret: a list of {name, label, secret, optional}. Null for a secret without parts.
alter table executor.secret_request add column parts jsonb;
