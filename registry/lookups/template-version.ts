import type { TemplateReference } from '#contracts/call';
import { platformKey, platformTemplate } from '#contracts/platform';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { referenceTo, versionKey } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { findTemplateVersion } from '../repository/template-version.ts';

/** One compiled version, from memory where it was asked for before. */
export async function getTemplateVersion(
  { db, catalog }: Pick<Deps, 'db' | 'catalog'>,
  { orgId, template }: { orgId: string; template: TemplateReference },
): Promise<CompiledTemplate> {
  if (template.key === platformKey) return platformTemplate;
  const key = versionKey(orgId, template);
  const current = catalog.find(template.key);
  if (current !== undefined && versionKey(orgId, referenceTo(current)) === key) return current;
  const kept = catalog.versions.get(key);
  if (kept !== undefined) return kept;
  const found = await findTemplateVersion(db, { orgId, template });
  if (found === undefined) {
    const message = `There is no version ${template.version} of the template ${template.key}.`;
    throw new AppError('not_found', message);
  }
  catalog.versions.set(key, found.template, { size: found.size });
  return found.template;
}
