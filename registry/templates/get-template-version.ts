import type { TemplateReference } from '#contracts/call';
import { platformKey, platformTemplate } from '#contracts/platform';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { toReference, versionKey } from './catalog.ts';
import type { Deps } from '../deps.ts';
import { withTools } from '../toolsets/domain/toolset.ts';
import { findTemplateVersion } from './template-version.sql.ts';
import { findToolset } from '../toolsets/toolset.sql.ts';

/**
 * Returns one compiled version of a template as policy and executor need it: without the words that
 * only the search reads.
 */
export async function getCompiledTemplate(
  deps: Pick<Deps, 'db' | 'catalog'>,
  request: { orgId: string; template: TemplateReference },
): Promise<CompiledTemplate> {
  const { intents: _words, ...template } = await getTemplateVersion(deps, request);
  return template;
}

/** Returns one compiled version of a template, from the cache if possible. */
export async function getTemplateVersion(
  { db, catalog }: Pick<Deps, 'db' | 'catalog'>,
  { orgId, template }: { orgId: string; template: TemplateReference },
): Promise<CompiledTemplate> {
  if (template.key === platformKey) return platformTemplate;
  const key = versionKey(orgId, template);
  const currentTemplate = catalog.find(template.key);
  if (currentTemplate !== undefined && versionKey(orgId, toReference(currentTemplate)) === key)
    return currentTemplate;
  const cachedVersion = catalog.versions.get(key);
  if (cachedVersion !== undefined) return cachedVersion;
  if (template.toolset !== undefined) return withToolset({ db, catalog }, { orgId, template });
  const storedVersion = await findTemplateVersion(db, { orgId, template });
  if (storedVersion === undefined) throw versionNotFound(template);
  catalog.versions.set(key, storedVersion.template, { size: storedVersion.size });
  return storedVersion.template;
}

/** Adds to the template of an MCP server the tools that were accepted for one service. */
async function withToolset(
  { db, catalog }: Pick<Deps, 'db' | 'catalog'>,
  { orgId, template: { toolset, ...template } }: { orgId: string; template: TemplateReference },
): Promise<CompiledTemplate> {
  const [base, found] = await Promise.all([
    getTemplateVersion({ db, catalog }, { orgId, template }),
    toolset && findToolset(db, { orgId, ...toolset }),
  ]);
  if (toolset === undefined || found === undefined) throw versionNotFound(template);
  const templateWithTools = withTools(base, found.toolset);
  catalog.versions.set(versionKey(orgId, { ...template, toolset }), templateWithTools, {
    size: found.size,
  });
  return templateWithTools;
}

function versionNotFound({ key, version }: TemplateReference): AppError {
  return new AppError('not_found', `There is no version ${version} of the template ${key}.`);
}
