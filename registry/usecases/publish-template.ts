import type { Template } from '#contracts/http/templates';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { outlineOf } from '../domain/outline.ts';
import { checkMayWrite, nameOf } from '../domain/own-template.ts';
import { presentTemplate } from '../domain/present-template.ts';
import { templateEvent } from '../domain/template-events.ts';
import { invalidTemplate } from '../lookups/compiled-document.ts';
import { getOwnTemplate } from '../lookups/known-templates.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import { switchTemplate } from '../repository/template.ts';

interface PublishTemplateFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: Tier;
  /** Said by whoever publishes, so that nobody publishes what they have not seen. */
  readonly version: number;
}

/** Makes a version the one that is found and connected. Services keep theirs until they are upgraded. */
export async function publishTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, version }: PublishTemplateFields,
): Promise<Template> {
  const caller = deps.readPrincipal(principal);
  const { orgId } = caller;
  await getOwnTemplate(deps, caller, { key, tier });
  checkMayWrite(caller, tier);
  const name = nameOf(caller, tier, key);
  const template = await getTemplateVersion(deps, {
    orgId,
    template: { key, tier, ownerId: name.ownerId, version },
  });
  if (template.server === null) throw withoutServer();
  const own = await deps.db.transaction(async (tx) => {
    const published = await switchTemplate(tx, { ...name, publishedVersion: version });
    if (published === undefined)
      throw new AppError(
        'not_found',
        `There is no version ${version} of the template "${key}" any more.`,
      );
    await appendEvent(tx, templateEvent('template.published', caller, published));
    return published;
  });
  return presentTemplate({ outline: outlineOf(template), own });
}

function withoutServer(): AppError {
  const message =
    'Nothing says where calls go. Add "servers" with the base URL, save, and publish.';
  const finding = { code: 'needs_base_url', message, path: '', line: null };
  return invalidTemplate({ valid: false, errors: [finding], warnings: [] });
}
