import type { CompiledTemplate } from '#contracts/template';
import type { Principal, TemplateTier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { statusOf } from '../domain/own-template.ts';
import { listKnownTemplates, noTemplate } from './known-templates.ts';
import { getTemplateVersion } from './template-version.ts';

interface Wish {
  readonly key: string;
  /** Null: the most specific. */
  readonly tier: TemplateTier | null;
  /** Everybody in the org acts through its services: none is made from one person's template. */
  readonly isForOrg: boolean;
}

/** The published version of a template that the caller may connect; drafts and disabled ones are not. */
export async function getConnectableTemplate(
  deps: Pick<Deps, 'db' | 'catalog'>,
  caller: Principal,
  { key, tier, isForOrg }: Wish,
): Promise<CompiledTemplate> {
  const known = await listKnownTemplates(deps, caller);
  const candidates = known.filter(
    ({ outline, own }) =>
      outline.key === key &&
      (outline.server !== null || own !== null) &&
      (tier === null || outline.tier === tier) &&
      !(isForOrg && outline.tier === 'user'),
  );
  const found = candidates.find(({ own }) => statusOf(own) === 'published');
  if (found !== undefined) {
    const { ownerId, version } = found.outline;
    const template = { key, tier: found.outline.tier, ownerId, version };
    return getTemplateVersion(deps, { orgId: caller.orgId, template });
  }
  const [unready] = candidates;
  if (unready === undefined) {
    const others = known.map(({ outline }) => outline.key).filter((each) => each !== key);
    throw noTemplate(key, others);
  }
  const isDisabled = statusOf(unready.own) === 'disabled';
  const what = isDisabled ? 'is disabled; enable it first.' : 'is a draft; publish it first.';
  throw new AppError('conflict', `The template "${key}" ${what}`);
}
