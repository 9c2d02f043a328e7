import { createPlainHttpCheck, parseEgressAllow } from '#egress';
import type { CompiledTemplate } from '#contracts/template';
import { createLogger } from '#telemetry';
import { openTemplateFolder, signatureOf } from './template-folder.ts';
import { compileFiles } from './usecases/load-built-in-templates.ts';
import type { LoadedFiles } from './usecases/load-built-in-templates.ts';

interface FolderSettings {
  readonly TEMPLATES_DIR: string;
  /** Where plain http is allowed. */
  readonly EGRESS_ALLOW: string;
}

/** Compiling fifty files takes a second or two: once, where one process migrates and runs the registry. */
const compiled = new Map<string, LoadedFiles>();

/** What this process has compiled of a folder already. */
export function compiledHere({ TEMPLATES_DIR, EGRESS_ALLOW }: FolderSettings): LoadedFiles {
  const name = `${TEMPLATES_DIR}\n${EGRESS_ALLOW}`;
  let loaded = compiled.get(name);
  if (loaded === undefined) compiled.set(name, (loaded = new Map()));
  return loaded;
}

/**
 * The built-in templates as the folder has them, for whoever records what is shipped. The registry
 * logs what is wrong with a file.
 */
export async function compileShippedTemplates(
  settings: FolderSettings,
): Promise<CompiledTemplate[]> {
  const folder = openTemplateFolder(settings.TEMPLATES_DIR);
  await signatureOf(folder);
  const logger = createLogger({ component: 'provision', level: 'silent' });
  const isPlainHttpAllowed = createPlainHttpCheck(parseEgressAllow(settings.EGRESS_ALLOW));
  const deps = { logger, isPlainHttpAllowed };
  return compileFiles(deps, await folder.read(), compiledHere(settings));
}
