import type { CompiledTemplate } from '#contracts/template';
import type { Principal, TemplateTier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { templateStatusOf } from './domain/own-template.ts';
import { listVisibleTemplates, templateNotFound } from './visible-templates.ts';
import { getTemplateVersion } from './get-template-version.ts';

interface WantedTemplate {
  readonly key: string;
  /**
   * The tier to search. Null means the most specific tier that has the template: user, org, global.
   */
  readonly tier: TemplateTier | null;
  /**
   * Whether the service will belong to the org. All users of the org act through it, so it must not
   * use the template of one user.
   */
  readonly isForOrg: boolean;
}

/**
 * Returns the published version of a template from which the caller may make a service. Refuses
 * drafts and disabled templates.
 */
export async function getConnectableTemplate(
  deps: Pick<Deps, 'db' | 'catalog'>,
  caller: Principal,
  { key: givenKey, tier, isForOrg }: WantedTemplate,
): Promise<CompiledTemplate> {
  const key = givenKey.toLowerCase();
  const visibleTemplates = await listVisibleTemplates(deps, caller);
  const matchingTemplates = visibleTemplates.filter(
    ({ outline, own }) =>
      outline.key === key &&
      (outline.server !== null || own !== null) &&
      (tier === null || outline.tier === tier) &&
      !(isForOrg && outline.tier === 'user'),
  );
  const publishedTemplate = matchingTemplates.find(
    ({ own }) => templateStatusOf(own) === 'published',
  );
  if (publishedTemplate !== undefined) {
    const { ownerId, version } = publishedTemplate.outline;
    const template = { key, tier: publishedTemplate.outline.tier, ownerId, version };
    return getTemplateVersion(deps, { orgId: caller.orgId, template });
  }
  const [unready] = matchingTemplates;
  if (unready === undefined) {
    const isOwn = visibleTemplates.some(
      ({ outline }) => outline.key === key && outline.tier === 'user',
    );
    if (isForOrg && isOwn) {
      const message = `The template "${key}" is your own. Publish it for the org to use it there, or connect it for yourself with tier "user".`;
      throw new AppError('not_found', message);
    }
    throw templateNotFound(givenKey, visibleTemplates);
  }
  const isDisabled = templateStatusOf(unready.own) === 'disabled';
  const reason = isDisabled ? 'is disabled; enable it first.' : 'is a draft; publish it first.';
  throw new AppError('conflict', `The template "${key}" ${reason}`);
}
