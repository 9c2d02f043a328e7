-- Public keys that decisions are or were signed with, of all orgs: what was signed can be checked
-- for as long as somebody keeps it.
create table auth.decision_key (
  id text primary key,
  public_key text not null,
  used_from timestamptz not null default now(),
  -- Null: in use.
  used_until timestamptz
);
