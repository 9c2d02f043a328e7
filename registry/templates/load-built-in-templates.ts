import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';

import { v7 as uuidv7 } from 'uuid';

import type { CompiledTemplate } from '#contracts/template';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { compileTemplate } from '../compiler/domain/template.ts';
import { lockBuiltInTemplates, assignBuiltInVersion } from './template-version.sql.ts';
import type { TemplateFile } from './template-folder.ts';

/**
 * The compiled files of the folder by file name. They are kept until the folder is read again, so
 * that only changed files are compiled.
 */
export type LoadedFiles = Map<string, LoadedFile>;

interface LoadedFile {
  readonly text: string;
  readonly template: CompiledTemplate;
  /** True when the file names a plain http address, which is an error unless the operator allows it. */
  readonly hasPlainHttp: boolean;
}

/** The org id in events about built-in templates, which belong to no org. */
const nilOrgId = '00000000-0000-0000-0000-000000000000';
const findingsLoggedMax = 20;

/** Puts the templates of the folder into the catalog, each with its version number. */
export async function loadBuiltInTemplates(
  deps: Pick<Deps, 'db' | 'catalog' | 'logger' | 'isPlainHttpAllowed'>,
  files: readonly TemplateFile[],
  loadedFiles: LoadedFiles,
): Promise<void> {
  const numberedTemplates = await assignVersions(
    deps,
    await compileFiles(deps, files, loadedFiles),
  );
  deps.catalog.replace(numberedTemplates);
  deps.logger.info(
    { templates: numberedTemplates.length, files: files.length },
    'templates loaded',
  );
}

/**
 * Compiles the templates of a folder. A file with an error is logged and skipped. If the process
 * has loaded the file before, the last valid content stays in use
 * (docs/reference/templates.md#loading).
 */
export async function compileFiles(
  deps: Pick<Deps, 'logger' | 'isPlainHttpAllowed'>,
  files: readonly TemplateFile[],
  loadedFiles: LoadedFiles,
): Promise<CompiledTemplate[]> {
  const filesByKey = new Map<string, { file: string; template: CompiledTemplate }>();
  for (const file of files) {
    const template = compileFile(deps, file, loadedFiles);
    // Compiling fifty files takes a second or two, so other tasks run between the files.
    await turn();
    if (template === undefined) continue;
    const otherFile = filesByKey.get(template.key);
    if (otherFile === undefined) {
      filesByKey.set(template.key, { file: file.name, template });
      continue;
    }
    const fields = { file: file.name, template: template.key, claimedBy: otherFile.file };
    deps.logger.error(fields, 'template file skipped: its key is taken');
  }
  const fileNames = new Set(files.map((file) => file.name));
  for (const name of loadedFiles.keys()) if (!fileNames.has(name)) loadedFiles.delete(name);
  return [...filesByKey.values()].map(({ template }) => template);
}

function compileFile(
  { logger, isPlainHttpAllowed }: Pick<Deps, 'logger' | 'isPlainHttpAllowed'>,
  file: TemplateFile,
  loadedFiles: LoadedFiles,
): CompiledTemplate | undefined {
  const fileBefore = loadedFiles.get(file.name);
  if (file.text === undefined) {
    logger.error({ file: file.name, problem: file.problem }, 'template file skipped');
    return fileBefore?.template;
  }
  if (fileBefore?.text === file.text) return fileBefore.template;
  let hasPlainHttp = false;
  const { report, template } = compileTemplate(file.text, {
    tier: 'global',
    ownerId: null,
    version: 1,
    isPlainHttpAllowed: (url) => {
      hasPlainHttp = true;
      return isPlainHttpAllowed(url);
    },
  });
  if (template === undefined) {
    const findings = report.errors.slice(0, findingsLoggedMax);
    logger.error(
      { file: file.name, findings, kept: fileBefore !== undefined },
      'template file skipped',
    );
    return fileBefore?.template;
  }
  if (report.warnings.length > 0) {
    const findings = report.warnings.slice(0, findingsLoggedMax);
    logger.warn({ file: file.name, findings }, 'template file has warnings');
  }
  loadedFiles.set(file.name, { text: file.text, template, hasPlainHttp });
  return template;
}

/**
 * Gives each template its version number. The same content gets the same number in all replicas and
 * after a restart.
 */
function assignVersions(
  { db }: Pick<Deps, 'db'>,
  templates: readonly CompiledTemplate[],
): Promise<CompiledTemplate[]> {
  return db.transaction(async (tx) => {
    await lockBuiltInTemplates(tx);
    const numberedTemplates: CompiledTemplate[] = [];
    const changedKeys: string[] = [];
    for (const template of templates) {
      const contentHash = createHash('sha256').update(JSON.stringify(template)).digest('hex');
      const { key } = template;
      const fields = { id: uuidv7(), key, contentHash, template };
      const { version, isNew } = await assignBuiltInVersion(tx, fields);
      numberedTemplates.push({ ...template, version });
      if (isNew) changedKeys.push(key);
    }
    if (changedKeys.length > 0) {
      await appendEvent(tx, {
        type: 'registry.changed',
        orgId: nilOrgId,
        audience: [],
        data: { templates: changedKeys },
        audit: null,
      });
    }
    return numberedTemplates;
  });
}
