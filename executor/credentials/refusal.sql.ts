import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { findReferenced, parseReference } from './domain/credential-rules.ts';

export type CredentialKind = 'secret' | 'connection';

interface CredentialVersionKey {
  readonly kind: CredentialKind;
  readonly orgId: string;
  readonly id: string;
  readonly version: number;
}

export interface MarkedCredential {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly at: Date;
}

interface MarkedRow {
  tier: Tier;
  owner_id: string | null;
  at: Date;
}

/**
 * After a success that removed a mark, no new mark is set for this time. This limits the events of
 * a provider that answers 401 for other reasons than a bad credential. The time doubles with each
 * such success, so that nobody causes events without end by waiting. It starts again from the
 * shortest time when the longest time has passed since the last one.
 */
const quietSeconds = { first: 60, longest: 3_600 };

/**
 * Marks this version of a credential as refused. Undefined when a later version has replaced it,
 * when it is marked already, or during the quiet time after a success. One statement checks and
 * sets the mark, so only one of several executors succeeds.
 */
export async function markRefused(
  sql: Sql,
  { kind, orgId, id, version }: CredentialVersionKey,
): Promise<MarkedCredential | undefined> {
  const [row] = await sql<MarkedRow[]>`
    update ${tableOf(sql, kind)}
       set refused_at = now(), refused_version = ${version}
     where org_id = ${orgId}
       and id = ${id}
       and ${versionColumnOf(sql, kind)} = ${version}
       and refused_version is distinct from ${version}
       and (accepted_at is null or accepted_at < now() - make_interval(secs => coalesce(refusal_quiet_seconds, ${quietSeconds.first})))
    returning tier, owner_id, refused_at as at
  `;
  return row && toMarkedCredential(row);
}

/**
 * Removes the mark after a call with this version succeeded. Undefined when the credential is not
 * marked, or when a later version is marked.
 */
export async function endRefusal(
  sql: Sql,
  { kind, orgId, id, version }: CredentialVersionKey,
): Promise<MarkedCredential | undefined> {
  const [row] = await sql<MarkedRow[]>`
    update ${tableOf(sql, kind)}
       set refused_at = null, refused_version = null, accepted_at = now(),
           refusal_quiet_seconds =
             case when accepted_at > refused_at - make_interval(
                         secs => coalesce(refusal_quiet_seconds, ${quietSeconds.first}) + ${quietSeconds.longest})
                  then least(2 * coalesce(refusal_quiet_seconds, ${quietSeconds.first}), ${quietSeconds.longest})
                  else ${quietSeconds.first} end
     where org_id = ${orgId}
       and id = ${id}
       and refused_version <= ${version}
    returning tier, owner_id, accepted_at as at
  `;
  return row && toMarkedCredential(row);
}

function tableOf(sql: Sql, kind: CredentialKind) {
  return kind === 'secret' ? sql`executor.secret` : sql`executor.connection`;
}

function versionColumnOf(sql: Sql, kind: CredentialKind) {
  return kind === 'secret' ? sql`current_version` : sql`token_version`;
}

function toMarkedCredential({ tier, owner_id: ownerId, at }: MarkedRow): MarkedCredential {
  return { tier, ownerId, at };
}

/** The reference to the first of these secrets whose current value a provider refused. */
export async function findRefusedSecretName(
  sql: Sql,
  { orgId, userId, references }: { orgId: string; userId: string; references: readonly string[] },
): Promise<string | undefined> {
  const names = references.map((reference) => parseReference(reference).name);
  const rows = await sql<{ name: string; tier: Tier; is_refused: boolean }[]>`
    select name, tier, refused_at is not null and refused_version = current_version as is_refused
      from executor.secret
     where org_id = ${orgId}
       and name = any(${names})
       and (tier = 'org' or owner_id = ${userId})
     limit 100
  `;
  return references.find((reference) => findReferenced(rows, reference)?.is_refused === true);
}
