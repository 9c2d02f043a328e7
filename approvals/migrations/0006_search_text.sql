-- What lists are searched for, in lower case. Null in approvals of earlier releases, whose text the
-- search takes from the card.
alter table approvals.approval add column search_text text;

-- Open approvals are few among many that ended.
create index approval_open_org_id_idx on approvals.approval (org_id, id desc)
 where status in ('pending', 'bubbled');
