-- The traceparent of the traced request that allowed the call, which its replay continues. Null
-- when that request was not traced, and in executions of earlier releases.
alter table approvals.execution add column traceparent text;
