import type { Deadline } from '#bus';
import type { TemplateReference } from '#contracts/call';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { authoredDigest } from '#templates';
import type { Deps } from '../deps.ts';
import { isMeant, notGenuine } from '../lookups/genuine-template.ts';
import { insertKnownTemplate } from '../repository/known-template.ts';

interface RecordTemplateFields {
  readonly principal: string;
  readonly key: TemplateReference['key'];
  readonly tier: Tier;
  readonly version: number;
}

/**
 * Keeps what a version says that its publisher has just published: from now on the registry can
 * hand out nothing else under its number.
 */
export async function recordTemplate(
  { db, registry, readPrincipal, newId, logger }: Deps,
  { principal, key, tier, version }: RecordTemplateFields,
  deadline: Deadline,
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  checkMayPublish(caller, tier);
  const { orgId, userId, identityId } = caller;
  const reference = { key, tier, ownerId: tier === 'org' ? orgId : userId, version };
  const template = await registry.getCompiledTemplate({ orgId, template: reference }, deadline);
  if (!isMeant(template, reference)) throw notGenuine(key);
  const digest = authoredDigest(template);
  const known = { id: newId(), orgId, template: reference, digest, publishedBy: identityId };
  await insertKnownTemplate(db, known);
  logger.info({ orgId, template: key, tier, version, digest }, 'template recorded');
  return {};
}

/** As the registry has it; its word is not enough here. */
function checkMayPublish({ kind, role }: Principal, tier: Tier): void {
  if (kind === 'user' && (role === 'admin' || (role === 'member' && tier === 'user'))) return;
  const who =
    tier === 'org' ? 'Only an admin publishes' : 'Only users who may change things publish';
  throw new AppError('forbidden', `${who} templates here.`);
}
