import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { checkMayWrite, templateNameOf } from './domain/own-template.ts';
import { templateEvent } from './domain/template-events.ts';
import { getOwnTemplate } from './visible-templates.ts';
import { countServicesOf } from './template-use.sql.ts';
import * as templates from './template.sql.ts';
import { deleteVersions } from './template-version.sql.ts';

/**
 * Deletes a template with all its versions. Refuses a template from which services were made,
 * because calls of those services would fail.
 */
export async function deleteTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier }: { principal: string; key: string; tier: Tier },
): Promise<Record<string, never>> {
  const caller = deps.readPrincipal(principal);
  await getOwnTemplate(deps, caller, { key, tier });
  checkMayWrite(caller, tier);
  const name = templateNameOf(caller, tier, key);
  await deps.db.transaction(async (tx) => {
    const template = await templates.lockTemplate(tx, name);
    if (template === undefined) throw new AppError('not_found', `The template "${key}" is gone.`);
    const services = await countServicesOf(tx, name);
    if (services > 0) {
      const count = services === 1 ? 'A service uses' : `${services} services use`;
      const message = `${count} the template "${key}"; disconnect first, or disable the template.`;
      throw new AppError('conflict', message, { details: { services_count: services } });
    }
    await templates.deleteTemplate(tx, name);
    await deleteVersions(tx, name);
    await appendEvent(tx, templateEvent('template.deleted', caller, template));
  });
  return {};
}
