-- The chains of the identities in also_asked_by, each from the user to the asker. They say which agent's
-- subtree has asked, and who follows a requester that takes its part back. Requests that executors of an
-- earlier release joined lack them.
alter table executor.person_request add column asker_chains jsonb not null default '[]';
