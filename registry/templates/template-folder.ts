import { readdirSync } from 'node:fs';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ConfigError } from '#config';
import { readSampleTemplate } from '#sample';
import { documentBytesMax } from '../document/domain/source.ts';

export interface TemplateFile {
  readonly name: string;
  /**
   * The content of the file; undefined when it is too large, unreadable or not UTF-8, as `problem`
   * says.
   */
  readonly text: string | undefined;
  readonly problem: string | undefined;
}

interface TemplateFolder {
  /**
   * Returns a text that changes whenever a file is added, changed or removed. Calls `stat` once per
   * file.
   */
  readSignature(): Promise<string>;
  /** Reads the files in order of their names. Throws when the folder cannot be read. */
  readFiles(): Promise<TemplateFile[]>;
}

const templateFilesMax = 500;
/** Comes last, so that a file of the folder may claim the key. */
const sampleFileName = 'sample service';
const ownFolderSetting = 'service-templates';

/** Returns the signature of a folder. Throws a `ConfigError` when the folder cannot be read. */
export async function signatureOf(folder: TemplateFolder): Promise<string> {
  try {
    return await folder.readSignature();
  } catch {
    throw unreadableFolder();
  }
}

/** Throws a `ConfigError` when the folder of built-in templates cannot be read. */
export function checkTemplateFolder(settings: Pick<FolderSettings, 'TEMPLATES_DIR'>): void {
  try {
    readdirSync(pathOf(settings));
  } catch {
    throw unreadableFolder();
  }
}

function unreadableFolder(): ConfigError {
  return new ConfigError('TEMPLATES_DIR names a folder that cannot be read. Correct it.');
}

export interface FolderSettings {
  readonly TEMPLATES_DIR: string;
  /** The address of the sample service, whose template is then one of the folder's. */
  readonly SAMPLE_URL?: string | undefined;
}

function pathOf({ TEMPLATES_DIR: setting }: Pick<FolderSettings, 'TEMPLATES_DIR'>): string {
  const ownFolder = fileURLToPath(new URL(`../../${ownFolderSetting}`, import.meta.url));
  return setting === ownFolderSetting ? ownFolder : resolve(setting);
}

/**
 * Opens the folder of built-in templates that the setting TEMPLATES_DIR names. Templates are files
 * that end in `.yaml` or `.yml` (docs/reference/templates.md#loading). The default folder does not
 * depend on the working directory.
 */
export function openTemplateFolder(settings: FolderSettings): TemplateFolder {
  const { SAMPLE_URL: sampleUrl } = settings;
  const path = pathOf(settings);
  const listFileNames = async () =>
    (await readdir(path))
      .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
      .toSorted()
      .slice(0, templateFilesMax);

  return {
    async readSignature() {
      const pendingFileMarks = (await listFileNames()).map(async (name) => {
        const status = await stat(join(path, name)).catch(() => undefined);
        return [name, status?.mtimeMs, status?.size, status?.ino].join(' ');
      });
      return (await Promise.all(pendingFileMarks)).join('\n');
    },
    async readFiles() {
      const files = await Promise.all(
        (await listFileNames()).map((name) => readTemplateFile(join(path, name), name)),
      );
      if (sampleUrl === undefined) return files;
      const text = await readSampleTemplate(sampleUrl);
      return [...files, { name: sampleFileName, text, problem: undefined }];
    },
  };
}

async function readTemplateFile(path: string, name: string): Promise<TemplateFile> {
  try {
    const { size } = await stat(path);
    // The size is checked before the file is read, because a file in the folder may have any size.
    if (size > documentBytesMax) return { name, text: undefined, problem: 'larger than 1 MiB' };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
    return { name, text, problem: undefined };
  } catch (error) {
    const problem = error instanceof TypeError ? 'not UTF-8' : 'cannot be read';
    return { name, text: undefined, problem };
  }
}
