import type { Sql } from '#database';

/**
 * How long after it was opened a session of the org `o` ends, even if it is in use: seven days, or
 * three times the idle time if that is longer (docs/reference/identities.md#lifetimes).
 */
export const sessionLifetime = (sql: Sql) =>
  sql`greatest(interval '7 days', make_interval(secs => 3 * o.session_idle_seconds))`;

/**
 * Whether the session `s` of the org `o` is open. The current settings of the org also apply to
 * sessions that are already open. But no session lasts longer than was set when it was opened.
 */
export const openSessionCondition = (sql: Sql) => sql`
  s.ended_at is null
    and s.expires_at > now()
    and s.created_at > now() - ${sessionLifetime(sql)}
    and s.last_used_at > now() - make_interval(secs => o.session_idle_seconds)
`;
