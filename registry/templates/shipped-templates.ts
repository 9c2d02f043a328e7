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
const compiledFolders = new Map<string, { files: LoadedFiles; egressAllow: string }>();

/**
 * Returns the templates that this process has compiled from a folder; empty before the first time.
 * Files with plain http addresses are left out if the setting EGRESS_ALLOW was different then.
 */
export function compiledInThisProcess({
  TEMPLATES_DIR,
  EGRESS_ALLOW,
}: CompilerSettings): LoadedFiles {
  const folder = compiledFolders.get(TEMPLATES_DIR);
  const isSame = folder?.egressAllow === EGRESS_ALLOW;
  return new Map([...(folder?.files ?? [])].filter(([, file]) => isSame || !file.hasPlainHttp));
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
  const files = compiledInThisProcess(settings);
  const templates = await compileFiles(deps, await folder.readFiles(), files);
  compiledFolders.set(settings.TEMPLATES_DIR, { files, egressAllow: settings.EGRESS_ALLOW });
  return templates;
}
