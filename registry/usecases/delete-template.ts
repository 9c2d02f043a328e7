import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { checkMayWrite, nameOf } from '../domain/own-template.ts';
import { templateEvent } from '../domain/template-events.ts';
import { getOwnTemplate } from '../lookups/known-templates.ts';
import { countServicesOf } from '../repository/connected-service.ts';
import * as templates from '../repository/template.ts';
import { deleteVersions } from '../repository/template-version.ts';

/** Deletes a template with all its versions. One that services use is refused: they could not be called. */
export async function deleteTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier }: { principal: string; key: string; tier: Tier },
): Promise<Record<string, never>> {
  const caller = deps.readPrincipal(principal);
  await getOwnTemplate(deps, caller, { key, tier });
  checkMayWrite(caller, tier);
  const name = nameOf(caller, tier, key);
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
