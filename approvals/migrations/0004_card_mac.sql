-- The executor's MAC of what the card shows, for the gateway to check. Null in approvals raised before.
alter table approvals.approval add column card_mac text;
