import type { Sql } from '#database';

/**
 * How long after its opening a session of the org `o` ends, even when it is in use: seven days, or
 * three times the time without use, so that a long time without use is not cut short
 * (docs/reference/identities.md#lifetimes).
 */
export const sessionLifetime = (sql: Sql) =>
  sql`greatest(interval '7 days', make_interval(secs => 3 * o.session_idle_seconds))`;

/**
 * Whether the session `s` of the org `o` is open. The settings of the org hold for sessions that
 * are open already, but no session lives longer than it was opened for.
 */
export const openSessionCondition = (sql: Sql) => sql`
  s.ended_at is null
    and s.expires_at > now()
    and s.created_at > now() - ${sessionLifetime(sql)}
    and s.last_used_at > now() - make_interval(secs => o.session_idle_seconds)
`;
