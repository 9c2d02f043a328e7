import type { Sql } from '#database';

/** A count of attempts. */
export interface AttemptCount {
  /** SHA-256 of what it counts. */
  readonly hash: Buffer;
  /** So many attempts come without a wait. */
  readonly freely: number;
}

/**
 * Counts an attempt before the password is looked at, so that any number at once cannot slip
 * through. The first `freely` come without a wait, the next waits five seconds, each further one
 * twice as long as the one before, a minute at most; an hour without attempts forgets them all.
 * Null when this one may be made, else the seconds to wait.
 */
export async function takeAttempt(
  sql: Sql,
  { hash, freely }: AttemptCount,
): Promise<number | null> {
  const taken = await sql`
    insert into auth.sign_in_attempt as a (account, attempts, last_at, next_at)
    values (${hash}, 1, clock_timestamp(), clock_timestamp())
        on conflict (account) do update
       set attempts = case when a.last_at < now() - interval '1 hour' then 1
                           else least(a.attempts + 1, ${freely + 15}) end,
           last_at = clock_timestamp(),
           next_at = clock_timestamp() + make_interval(secs =>
             case when a.last_at < now() - interval '1 hour' or a.attempts < ${freely - 1} then 0
                  else least(60, 5 * power(2, a.attempts - ${freely - 1})) end)
     where a.next_at <= clock_timestamp()
    returning a.attempts
  `;
  if (taken.length === 1) return null;
  const [row] = await sql<{ seconds: number }[]>`
    select ceil(extract(epoch from (next_at - clock_timestamp())))::integer as seconds
      from auth.sign_in_attempt
     where account = ${hash}
  `;
  return Math.max(1, row?.seconds ?? 1);
}

/** After a success. */
export async function clearAttempts(
  sql: Sql,
  counts: readonly Pick<AttemptCount, 'hash'>[],
): Promise<void> {
  const hashes = counts.map(({ hash }) => hash.toString('hex'));
  await sql`
    delete from auth.sign_in_attempt
     where account in (select decode(hash, 'hex') from unnest(${hashes}::text[]) as hash)
  `;
}

export async function pruneSignInAttempts(sql: Sql): Promise<void> {
  await sql`
    delete from auth.sign_in_attempt
     where account in (select account
                         from auth.sign_in_attempt
                        where last_at < now() - interval '2 hours'
                        limit 10000)
  `;
}
