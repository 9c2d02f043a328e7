-- Auth's signed decision, and the gap that it was made on where that is another approval's. Erased
-- with the gap and the sealed call.
alter table approvals.approval add column decision text;
alter table approvals.approval add column decided_gap text;
-- Of the gap, which is erased at the end: its id and the digest of what it says. Null in approvals
-- raised before decisions were signed.
alter table approvals.approval add column gap_id uuid;
alter table approvals.approval add column gap_digest text;
alter table approvals.approval add constraint approval_closed_has_no_decision
  check (status not in ('denied', 'expired') or (decision is null and decided_gap is null));
-- The decision says which client the requester decided by.
alter table approvals.approval drop column resolved_by_client_id;
