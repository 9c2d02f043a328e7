import { createPlainHttpCheck, parseEgressAllow } from '#egress';
import type { CompiledTemplate } from '#contracts/template';
import { createLogger } from '#telemetry';
import { openTemplateFolder, signatureOf } from './template-folder.ts';
import type { FolderSettings } from './template-folder.ts';
import { compileFiles } from './load-built-in-templates.ts';
import type { LoadedFiles } from './load-built-in-templates.ts';

interface CompilerSettings extends FolderSettings {
  /** The hosts that the operator allows by plain http. */
  readonly EGRESS_ALLOW: string;
}

/**
 * The compiled templates by folder. One process may migrate the database and run the registry; both
 * compile the folder, which takes a second or two, so the second time uses this result.
 */
const compiledFilesByFolder = new Map<string, LoadedFiles>();

/**
 * Returns the templates that this process has compiled from a folder; empty before the first time.
 */
export function compiledInThisProcess({
  TEMPLATES_DIR,
  EGRESS_ALLOW,
}: CompilerSettings): LoadedFiles {
  const name = `${TEMPLATES_DIR}\n${EGRESS_ALLOW}`;
  let loadedFiles = compiledFilesByFolder.get(name);
  if (loadedFiles === undefined) compiledFilesByFolder.set(name, (loadedFiles = new Map()));
  return loadedFiles;
}

/**
 * Compiles the built-in templates of the folder for `migrate`, which records their versions. Does
 * not log errors in the files, because the registry logs them when it starts.
 */
export async function compileShippedTemplates(
  settings: CompilerSettings,
): Promise<CompiledTemplate[]> {
  const folder = openTemplateFolder(settings);
  await signatureOf(folder);
  const logger = createLogger({ component: 'provision', level: 'silent' });
  const isPlainHttpAllowed = createPlainHttpCheck(parseEgressAllow(settings.EGRESS_ALLOW));
  const deps = { logger, isPlainHttpAllowed };
  return compileFiles(deps, await folder.readFiles(), compiledInThisProcess(settings));
}
