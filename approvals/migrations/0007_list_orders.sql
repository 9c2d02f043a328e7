-- Lists of decided approvals are in the order of the decisions. These and the further lists below
-- are read in the order of an index, by whose approvals they are.
create index approval_decided_idx on approvals.approval (org_id, resolved_at desc, id desc)
 where resolved_at is not null;
create index approval_user_decided_idx
    on approvals.approval (org_id, user_id, resolved_at desc, id desc)
 where resolved_at is not null;
create index approval_requester_decided_idx
    on approvals.approval (org_id, requester_id, resolved_at desc, id desc)
 where resolved_at is not null;
create index approval_requester_idx on approvals.approval (org_id, requester_id, id desc);
create index approval_open_user_idx on approvals.approval (org_id, user_id, id desc)
 where status in ('pending', 'bubbled');
create index approval_open_resolver_idx on approvals.approval (org_id, resolver_id, id desc)
 where status in ('pending', 'bubbled');

-- Approvals of earlier releases, whose text to search in is filled in bit by bit.
create index approval_search_text_idx on approvals.approval (id) where search_text is null;
