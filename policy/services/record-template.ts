import type { Deadline } from '#bus';
import type { TemplateReference } from '#contracts/call';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { authoredDigest } from '#templates';
import type { Deps } from '../deps.ts';
import { isRequestedTemplate, notGenuine } from './genuine-template.ts';
import { deleteKnownTemplates, insertKnownTemplate } from './known-template.sql.ts';

interface RecordTemplateFields {
  readonly principal: string;
  readonly key: TemplateReference['key'];
  readonly tier: Tier;
  readonly version: number;
}

/**
 * The most versions of one user or org. Without this limit, a member who publishes constantly could
 * fill the table.
 */
const versionsPerOwnerMax = 5_000;

/**
 * Records the content of a template version that is about to be published. From then on, policy
 * accepts no other content under this version number.
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
  if (!isRequestedTemplate(template, reference)) throw notGenuine(key);
  const digest = authoredDigest(template);
  const knownTemplate = {
    id: newId(),
    orgId,
    template: reference,
    digest,
    publishedBy: identityId,
  };
  const insertOutcome = await insertKnownTemplate(db, {
    ...knownTemplate,
    max: versionsPerOwnerMax,
  });
  const fields = { orgId, template: key, tier, version, digest };
  if (insertOutcome === 'full') throw tooManyVersionsError(tier);
  if (insertOutcome === 'differs') {
    logger.error(
      fields,
      'the registry gave something else for a version that was published before',
    );
    throw notGenuine(key);
  }
  logger.info(fields, 'template recorded');
  return {};
}

/** Deletes the records of a deleted template. Its version numbers are never used again. */
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

function tooManyVersionsError(tier: Tier): AppError {
  const ownerText = tier === 'org' ? 'the org' : 'one person';
  return new AppError(
    'conflict',
    `At most ${versionsPerOwnerMax} published versions are kept for ${ownerText}. Delete templates that are no longer used: with a template all of its versions go.`,
  );
}

/**
 * Throws unless the caller may publish. The registry checks this too, but policy does not rely on
 * the registry.
 */
function checkMayPublish({ kind, role }: Principal, tier: Tier): void {
  if (kind === 'user' && (role === 'admin' || (role === 'member' && tier === 'user'))) return;
  const ownerWords =
    tier === 'org' ? 'Only an admin publishes' : 'Only users who may change things publish';
  throw new AppError('forbidden', `${ownerWords} templates here.`);
}
