import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';

import { v7 as uuidv7 } from 'uuid';

import type { CompiledTemplate } from '#contracts/template';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { compileTemplate } from '../domain/template.ts';
import { lockBuiltInTemplates, numberBuiltInTemplate } from '../repository/template-version.ts';
import type { TemplateFile } from '../template-folder.ts';

/** Compiled files by name, kept from one load to the next. */
export type LoadedFiles = Map<
  string,
  { readonly text: string; readonly template: CompiledTemplate }
>;

/** Built-in templates belong to no org; the event that they changed names this one. */
const noOrg = '00000000-0000-0000-0000-000000000000';
const findingsLogged = 20;

/** Puts the folder's templates into the catalog, each with the number of its version. */
export async function loadBuiltInTemplates(
  deps: Pick<Deps, 'db' | 'catalog' | 'logger' | 'isPlainHttpAllowed'>,
  files: readonly TemplateFile[],
  loaded: LoadedFiles,
): Promise<void> {
  const numbered = await numberTemplates(deps, await compileFiles(deps, files, loaded));
  deps.catalog.replace(numbered);
  deps.logger.info({ templates: numbered.length, files: files.length }, 'templates loaded');
}

/**
 * Compiles the templates of a folder. A file with an error is logged and skipped, and the others
 * still load; while the process runs, what the file held before stays in use
 * (docs/reference/templates.md#loading).
 */
export async function compileFiles(
  deps: Pick<Deps, 'logger' | 'isPlainHttpAllowed'>,
  files: readonly TemplateFile[],
  loaded: LoadedFiles,
): Promise<CompiledTemplate[]> {
  const byKey = new Map<string, { file: string; template: CompiledTemplate }>();
  for (const file of files) {
    const template = compileFile(deps, file, loaded);
    // Fifty files take a second or two, and others have connections to answer meanwhile.
    await turn();
    if (template === undefined) continue;
    const other = byKey.get(template.key);
    if (other === undefined) {
      byKey.set(template.key, { file: file.name, template });
      continue;
    }
    const fields = { file: file.name, template: template.key, claimedBy: other.file };
    deps.logger.error(fields, 'template file skipped: its key is taken');
  }
  const names = new Set(files.map((file) => file.name));
  for (const name of loaded.keys()) if (!names.has(name)) loaded.delete(name);
  return [...byKey.values()].map(({ template }) => template);
}

function compileFile(
  { logger, isPlainHttpAllowed }: Pick<Deps, 'logger' | 'isPlainHttpAllowed'>,
  file: TemplateFile,
  loaded: LoadedFiles,
): CompiledTemplate | undefined {
  const before = loaded.get(file.name);
  if (file.text === undefined) {
    logger.error({ file: file.name, problem: file.problem }, 'template file skipped');
    return before?.template;
  }
  if (before?.text === file.text) return before.template;
  const options = { tier: 'global', ownerId: null, version: 1, isPlainHttpAllowed } as const;
  const { report, template } = compileTemplate(file.text, options);
  if (template === undefined) {
    const findings = report.errors.slice(0, findingsLogged);
    logger.error(
      { file: file.name, findings, kept: before !== undefined },
      'template file skipped',
    );
    return before?.template;
  }
  if (report.warnings.length > 0) {
    const findings = report.warnings.slice(0, findingsLogged);
    logger.warn({ file: file.name, findings }, 'template file has warnings');
  }
  loaded.set(file.name, { text: file.text, template });
  return template;
}

/** Versions count up across restarts and replicas: the same content has the same number everywhere. */
function numberTemplates(
  { db }: Pick<Deps, 'db'>,
  templates: readonly CompiledTemplate[],
): Promise<CompiledTemplate[]> {
  return db.transaction(async (tx) => {
    await lockBuiltInTemplates(tx);
    const numbered: CompiledTemplate[] = [];
    const changed: string[] = [];
    for (const template of templates) {
      const contentHash = createHash('sha256').update(JSON.stringify(template)).digest('hex');
      const { key } = template;
      const fields = { id: uuidv7(), key, contentHash, template };
      const { version, isNew } = await numberBuiltInTemplate(tx, fields);
      numbered.push({ ...template, version });
      if (isNew) changed.push(key);
    }
    if (changed.length > 0) {
      const data = { templates: changed };
      await appendEvent(tx, {
        type: 'registry.changed',
        orgId: noOrg,
        audience: [],
        data,
        audit: null,
      });
    }
    return numbered;
  });
}
