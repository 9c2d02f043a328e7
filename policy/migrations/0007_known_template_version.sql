-- Of a published version the first record counts: nobody can publish something else under its number.
delete from policy.known_template as later
 using policy.known_template as first
 where later.tier <> 'global'
   and (later.org_id, later.tier, later.owner_id, later.key, later.version)
       = (first.org_id, first.tier, first.owner_id, first.key, first.version)
   and (later.created_at, later.id) > (first.created_at, first.id);
create unique index known_template_version_key
    on policy.known_template (org_id, tier, owner_id, key, version)
 where tier <> 'global';
