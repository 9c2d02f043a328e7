import type { Template } from '#contracts/http/templates';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { outlineOf } from './domain/outline.ts';
import { checkMayWrite, templateNameOf } from './domain/own-template.ts';
import { presentTemplate } from './domain/present-template.ts';
import { templateEvent } from './domain/template-events.ts';
import { invalidTemplate } from './read-document.ts';
import { getOwnTemplate } from './visible-templates.ts';
import { getTemplateVersion } from './get-template-version.ts';
import { switchTemplate } from './template.sql.ts';

interface PublishTemplateFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: Tier;
  /**
   * The version to publish. The caller must name it, so that nobody publishes a version by mistake
   * that another person has saved meanwhile.
   */
  readonly version: number;
}

/**
 * Makes a version the published one, which callers can find and connect. Existing services keep
 * their version until a person upgrades them.
 */
export async function publishTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, version }: PublishTemplateFields,
): Promise<Template> {
  const caller = deps.readPrincipal(principal);
  const { orgId } = caller;
  await getOwnTemplate(deps, caller, { key, tier });
  checkMayWrite(caller, tier);
  const name = templateNameOf(caller, tier, key);
  const template = await getTemplateVersion(deps, {
    orgId,
    template: { key, tier, ownerId: name.ownerId, version },
  });
  if (template.server === null) throw noServerToCall();
  const ownTemplate = await deps.db.transaction(async (tx) => {
    const publishedTemplate = await switchTemplate(tx, { ...name, publishedVersion: version });
    if (publishedTemplate === undefined)
      throw new AppError(
        'not_found',
        `There is no version ${version} of the template "${key}" any more.`,
      );
    await appendEvent(tx, templateEvent('template.published', caller, publishedTemplate));
    return publishedTemplate;
  });
  return presentTemplate({ outline: outlineOf(template), own: ownTemplate });
}

function noServerToCall(): AppError {
  const message =
    'Nothing says where calls go. Add "servers" with the base URL, save, and publish.';
  const finding = { code: 'needs_base_url', message, path: '', line: null };
  return invalidTemplate({ valid: false, errors: [finding], warnings: [] });
}
