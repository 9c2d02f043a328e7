-- Set with `via`: the OAuth client that decided for itself. The rule counts while that client's
-- switch is on.
alter table policy.rule add column via_client_id text;
alter table policy.rule add constraint rule_via_has_client
  check ((via is null) = (via_client_id is null));
