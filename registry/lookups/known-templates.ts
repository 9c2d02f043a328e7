import type { Principal, TemplateTier, Tier } from '#contracts/vocabulary';
import { AppError, nearestName } from '#errors';
import type { Deps } from '../deps.ts';
import { outlineOf } from '../domain/outline.ts';
import { maySee, statusOf } from '../domain/own-template.ts';
import type { KnownTemplate, OwnTemplate } from '../domain/own-template.ts';
import { listTemplates } from '../repository/template.ts';

type Reader = Pick<Deps, 'db' | 'catalog'>;

/** Twice what one owner may have: the user's own and the org's. */
const ownMax = 200;
const tiers: readonly string[] = ['user', 'org', 'global'];

/** Most specific first. */
export function rankOf(tier: string): number {
  return tiers.indexOf(tier);
}

/** Every template that the caller may see, by key, the most specific tier first. */
export async function listKnownTemplates(
  { db, catalog }: Reader,
  caller: Principal,
): Promise<KnownTemplate[]> {
  const { orgId, userId } = caller;
  const own = await listTemplates(db, { orgId, userId, key: null, limit: ownMax });
  const builtIn = catalog.list().map((template) => ({ outline: outlineOf(template), own: null }));
  return [...own.filter((known) => maySee(caller, known.own)), ...builtIn].toSorted(
    ({ outline: left }, { outline: right }) =>
      compare(left.key, right.key) || rankOf(left.tier) - rankOf(right.tier),
  );
}

/** What there is to connect: of every key the most specific template that is published. */
export function published(known: readonly KnownTemplate[]): KnownTemplate[] {
  const keys = new Set<string>();
  return known.filter(({ own, outline: { key } }) => {
    if (statusOf(own) !== 'published' || keys.has(key)) return false;
    keys.add(key);
    return true;
  });
}

/** The most specific template of a key that the caller may see, or the one of a tier. */
export async function getKnownTemplate(
  { db, catalog }: Reader,
  caller: Principal,
  { key, tier }: { key: string; tier: TemplateTier | null },
): Promise<KnownTemplate> {
  const { orgId, userId } = caller;
  const own = await listTemplates(db, { orgId, userId, key, limit: ownMax });
  const template = catalog.find(key);
  const builtIn = template ? [{ outline: outlineOf(template), own: null }] : [];
  const seen = [...own, ...builtIn].filter((known) => maySee(caller, known.own));
  const found = seen.find(({ outline }) => tier === null || outline.tier === tier);
  if (found === undefined) {
    if (tier !== null && seen[0] !== undefined) throw onlyOfTier(seen[0].outline, tier);
    const keys = await keysOf({ db, catalog }, caller);
    throw noTemplate(
      key,
      keys.filter((each) => each !== key),
    );
  }
  return found;
}

/** A template of the org or of the user, as its authors need it; others are refused by `checkMayWrite`. */
export async function getOwnTemplate(
  reader: Reader,
  caller: Principal,
  { key, tier }: { key: string; tier: Tier },
): Promise<KnownTemplate & { readonly own: OwnTemplate }> {
  const { outline, own } = await getKnownTemplate(reader, caller, { key, tier });
  if (own === null) throw noTemplate(key, []);
  return { outline, own };
}

/** `not_found` with the nearest key, as far as the caller may know of it. */
export function noTemplate(key: string, known: readonly string[]): AppError {
  const suggestion = nearestName(key, known);
  const hint = suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`;
  return new AppError('not_found', `There is no template "${key}".${hint}`, {
    details: { did_you_mean: suggestion },
  });
}

/** Writing without a tier means one's own, which is easily forgotten of the org's. */
function onlyOfTier({ key, tier }: { key: string; tier: TemplateTier }, asked: TemplateTier) {
  return new AppError(
    'not_found',
    `There is no template "${key}" of tier ${asked}, but one of tier ${tier}; add tier=${tier} to mean that.`,
  );
}

async function keysOf(reader: Reader, caller: Principal): Promise<string[]> {
  const known = await listKnownTemplates(reader, caller);
  return known.map(({ outline }) => outline.key);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
