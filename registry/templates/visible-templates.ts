import type { Principal, TemplateTier, Tier } from '#contracts/vocabulary';
import { AppError, nearestNameOrTitle } from '#errors';
import type { Deps } from '../deps.ts';
import { outlineOf } from './domain/outline.ts';
import { maySeeTemplate, templateStatusOf } from './domain/own-template.ts';
import type { VisibleTemplate, OwnTemplate } from './domain/own-template.ts';
import { listTemplates } from './template.sql.ts';

type TemplateReader = Pick<Deps, 'db' | 'catalog'>;

/** The user may have 100 templates and the org another 100. */
const templatesMax = 200;
const tiers: readonly string[] = ['user', 'org', 'global'];

/** The position of a tier in the order user, org, global: most specific first. */
export function tierRankOf(tier: string): number {
  return tiers.indexOf(tier);
}

/**
 * Lists all templates that the caller may see, in order of keys. Of several with one key, the most
 * specific tier comes first.
 */
export async function listVisibleTemplates(
  { db, catalog }: TemplateReader,
  caller: Principal,
): Promise<VisibleTemplate[]> {
  const { orgId, userId } = caller;
  const ownTemplates = await listTemplates(db, { orgId, userId, key: null, limit: templatesMax });
  const builtInTemplates = catalog
    .list()
    .map((template) => ({ outline: outlineOf(template), own: null }));
  return [
    ...ownTemplates.filter((known) => maySeeTemplate(caller, known.own)),
    ...builtInTemplates,
  ].toSorted(
    ({ outline: left }, { outline: right }) =>
      compareTiers(left.key, right.key) || tierRankOf(left.tier) - tierRankOf(right.tier),
  );
}

/**
 * Returns for each key the published template of the most specific tier. Callers can connect these.
 */
export function listPublishedTemplates(
  visibleTemplates: readonly VisibleTemplate[],
): VisibleTemplate[] {
  const keys = new Set<string>();
  return visibleTemplates.filter(({ own, outline: { key } }) => {
    if (templateStatusOf(own) !== 'published' || keys.has(key)) return false;
    keys.add(key);
    return true;
  });
}

/**
 * Returns the template with this key that the caller may see: from the given tier, or else from the
 * most specific one. Keys have no capital letters, so these make no difference.
 */
export async function getVisibleTemplate(
  { db, catalog }: TemplateReader,
  caller: Principal,
  { key: givenKey, tier }: { key: string; tier: TemplateTier | null },
): Promise<VisibleTemplate> {
  const { orgId, userId } = caller;
  const key = givenKey.toLowerCase();
  const ownTemplates = await listTemplates(db, { orgId, userId, key, limit: templatesMax });
  const template = catalog.find(key);
  const builtInTemplates = template ? [{ outline: outlineOf(template), own: null }] : [];
  const visibleCandidates = [...ownTemplates, ...builtInTemplates].filter((known) =>
    maySeeTemplate(caller, known.own),
  );
  const visibleTemplate = visibleCandidates.find(
    ({ outline }) => tier === null || outline.tier === tier,
  );
  if (visibleTemplate === undefined) {
    if (tier !== null && visibleCandidates[0] !== undefined)
      throw foundInOtherTierError(visibleCandidates[0].outline, tier);
    const otherTemplates = await listVisibleTemplates({ db, catalog }, caller);
    throw templateNotFound(givenKey, otherTemplates);
  }
  return visibleTemplate;
}

/**
 * Returns a template of the org or of the user, whatever its status. Does not check whether the
 * caller may write the template; `checkMayWrite` does.
 */
export async function getOwnTemplate(
  reader: TemplateReader,
  caller: Principal,
  { key, tier }: { key: string; tier: Tier },
): Promise<VisibleTemplate & { readonly own: OwnTemplate }> {
  const { outline, own } = await getVisibleTemplate(reader, caller, { key, tier });
  if (own === null) throw templateNotFound(key, []);
  return { outline, own };
}

/**
 * The error `not_found`. It suggests the key whose text, or whose template's title, is most similar
 * among the other templates that the caller may see.
 */
export function templateNotFound(
  key: string,
  visibleTemplates: readonly Pick<VisibleTemplate, 'outline'>[],
): AppError {
  const known = visibleTemplates.map(({ outline }) => ({
    name: outline.key,
    title: outline.title,
  }));
  const suggestion = nearestNameOrTitle(
    key,
    known.filter(({ name }) => name !== key),
  );
  const hint = suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`;
  return new AppError('not_found', `There is no template "${key}".${hint}`, {
    details: { did_you_mean: suggestion },
  });
}

/**
 * The error for a request that names no tier, when only another tier has the template. Without a
 * tier the request means the user's own templates, and callers forget to name the tier `org`.
 */
function foundInOtherTierError(
  { key, tier }: { key: string; tier: TemplateTier },
  askedTier: TemplateTier,
) {
  return new AppError(
    'not_found',
    `There is no template "${key}" of tier ${askedTier}, but one of tier ${tier}; add tier=${tier} to mean that.`,
  );
}

function compareTiers(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
