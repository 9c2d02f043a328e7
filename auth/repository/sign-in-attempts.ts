import type { Sql } from '#database';

/**
 * Counts an attempt before the password is looked at, so that any number at once cannot slip
 * through. The first five come freely, the next waits five seconds, each further one twice as long
 * as the one before, a minute at most; an hour without attempts forgets them all. Null when this one may be made, else
 * the seconds to wait: an account is slowed down and never locked.
 */
export async function takeAttempt(
  sql: Sql,
  { account }: { account: Buffer },
): Promise<number | null> {
  const taken = await sql`
    insert into auth.sign_in_attempt as a (account, attempts, last_at, next_at)
    values (${account}, 1, clock_timestamp(), clock_timestamp())
        on conflict (account) do update
       set attempts = case when a.last_at < now() - interval '1 hour' then 1
                           else least(a.attempts + 1, 20) end,
           last_at = clock_timestamp(),
           next_at = clock_timestamp() + make_interval(secs =>
             case when a.last_at < now() - interval '1 hour' or a.attempts < 4 then 0
                  else least(60, 5 * power(2, a.attempts - 4)) end)
     where a.next_at <= clock_timestamp()
    returning a.attempts
  `;
  if (taken.length === 1) return null;
  const [row] = await sql<{ seconds: number }[]>`
    select ceil(extract(epoch from (next_at - clock_timestamp())))::integer as seconds
      from auth.sign_in_attempt
     where account = ${account}
  `;
  return Math.max(1, row?.seconds ?? 1);
}

/** After a success. */
export async function clearAttempts(sql: Sql, { account }: { account: Buffer }): Promise<void> {
  await sql`
    delete from auth.sign_in_attempt
     where account = ${account}
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
