import type { TemplateReference } from '#contracts/call';
import { platformKey, platformTemplate } from '#contracts/platform';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { referenceTo, versionKey } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { withTools } from '../domain/toolset.ts';
import { findTemplateVersion } from '../repository/template-version.ts';
import { findToolset } from '../repository/toolset.ts';

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
  if (template.toolset !== undefined) return withToolset({ db, catalog }, { orgId, template });
  const found = await findTemplateVersion(db, { orgId, template });
  if (found === undefined) throw noVersion(template);
  catalog.versions.set(key, found.template, { size: found.size });
  return found.template;
}

/** A template of runtime `mcp` with the tools that were accepted for one service. */
async function withToolset(
  { db, catalog }: Pick<Deps, 'db' | 'catalog'>,
  { orgId, template: { toolset, ...template } }: { orgId: string; template: TemplateReference },
): Promise<CompiledTemplate> {
  const [base, found] = await Promise.all([
    getTemplateVersion({ db, catalog }, { orgId, template }),
    toolset && findToolset(db, { orgId, ...toolset }),
  ]);
  if (toolset === undefined || found === undefined) throw noVersion(template);
  const whole = withTools(base, found.toolset);
  catalog.versions.set(versionKey(orgId, { ...template, toolset }), whole, { size: found.size });
  return whole;
}

function noVersion({ key, version }: TemplateReference): AppError {
  return new AppError('not_found', `There is no version ${version} of the template ${key}.`);
}
