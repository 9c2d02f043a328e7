-- Approved reads have a row too, so that one is sent once however often its replay is asked for. When
-- the executor that had it is gone, it may be sent again: it changes nothing.
alter table executor.dispatch
  add column may_repeat boolean not null default false;
