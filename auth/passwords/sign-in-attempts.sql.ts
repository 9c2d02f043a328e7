import type { Sql } from '#database';

/** A counter of sign-in attempts. */
export interface AttemptCounter {
  /** SHA-256 of the account together with the network or browser for which attempts are counted. */
  readonly hash: Buffer;
  /** The number of attempts without a wait. */
  readonly freeAttempts: number;
}

/**
 * Counts an attempt. This happens before the password is checked, so that parallel attempts cannot
 * all pass. The first `freeAttempts` need no wait. The next attempt must wait five seconds, and
 * each further attempt twice as long, up to a minute. After an hour without attempts, the counter
 * restarts. Returns null when the attempt is allowed, otherwise the seconds to wait.
 */
export async function takeAttempt(
  sql: Sql,
  { hash, freeAttempts }: AttemptCounter,
): Promise<number | null> {
  const takenRows = await sql`
    insert into auth.sign_in_attempt as a (account, attempts, last_at, next_at)
    values (${hash}, 1, clock_timestamp(), clock_timestamp())
        on conflict (account) do update
       set attempts = case when a.last_at < now() - interval '1 hour' then 1
                           else least(a.attempts + 1, ${freeAttempts + 15}) end,
           last_at = clock_timestamp(),
           next_at = clock_timestamp() + make_interval(secs =>
             case when a.last_at < now() - interval '1 hour' or a.attempts < ${freeAttempts - 1} then 0
                  else least(60, 5 * power(2, a.attempts - ${freeAttempts - 1})) end)
     where a.next_at <= clock_timestamp()
    returning a.attempts
  `;
  if (takenRows.length === 1) return null;
  const [row] = await sql<{ seconds: number }[]>`
    select ceil(extract(epoch from (next_at - clock_timestamp())))::integer as seconds
      from auth.sign_in_attempt
     where account = ${hash}
  `;
  return Math.max(1, row?.seconds ?? 1);
}

/** Deletes the counters after a successful sign-in. */
export async function clearAttempts(
  sql: Sql,
  attemptCounters: readonly Pick<AttemptCounter, 'hash'>[],
): Promise<void> {
  const hashes = attemptCounters.map(({ hash }) => hash.toString('hex'));
  await sql`
    delete from auth.sign_in_attempt
     where account in (select decode(hash, 'hex') from unnest(${hashes}::text[]) as hash)
  `;
}

export async function pruneSignInAttempts(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.sign_in_attempt
     where account in (select account
                         from auth.sign_in_attempt
                        where last_at < now() - interval '2 hours'
                        limit ${limit})
  `;
  return count;
}
