import type { Deadline } from '#bus';
import type { TemplateReference } from '#contracts/call';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { authoredDigest } from '#templates';
import type { Deps } from '../deps.ts';
import { isMeant, notGenuine } from '../lookups/genuine-template.ts';
import { deleteKnownTemplates, insertKnownTemplate } from '../repository/known-template.ts';

interface RecordTemplateFields {
  readonly principal: string;
  readonly key: TemplateReference['key'];
  readonly tier: Tier;
  readonly version: number;
}

/** Of one person, or of one org: who publishes for days on end must not fill the table. */
const versionsPerOwnerMax = 5_000;

/**
 * Keeps what a version says that is about to be published: from now on the registry can hand out
 * nothing else under its number.
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
  const outcome = await insertKnownTemplate(db, { ...known, max: versionsPerOwnerMax });
  const fields = { orgId, template: key, tier, version, digest };
  if (outcome === 'full') throw tooMany(tier);
  if (outcome === 'differs') {
    logger.error(
      fields,
      'the registry gave something else for a version that was published before',
    );
    throw notGenuine(key);
  }
  logger.info(fields, 'template recorded');
  return {};
}

/** Gives up the records of a template that was deleted. Its numbers go on, so none of them comes back. */
export async function forgetTemplate(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, key, tier }: Omit<RecordTemplateFields, 'version'>,
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  checkMayPublish(caller, tier);
  const { orgId, userId } = caller;
  await deleteKnownTemplates(db, { orgId, tier, ownerId: tier === 'org' ? orgId : userId, key });
  return {};
}

function tooMany(tier: Tier): AppError {
  const whose = tier === 'org' ? 'the org' : 'one person';
  return new AppError(
    'conflict',
    `At most ${versionsPerOwnerMax} published versions are kept for ${whose}. Delete templates that are no longer used: with a template all of its versions go.`,
  );
}

/** As the registry has it; its word is not enough here. */
function checkMayPublish({ kind, role }: Principal, tier: Tier): void {
  if (kind === 'user' && (role === 'admin' || (role === 'member' && tier === 'user'))) return;
  const who =
    tier === 'org' ? 'Only an admin publishes' : 'Only users who may change things publish';
  throw new AppError('forbidden', `${who} templates here.`);
}
