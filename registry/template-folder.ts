import { readFile, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ConfigError } from '#config';
import { documentBytesMax } from './domain/source.ts';

export interface TemplateFile {
  readonly name: string;
  /** Undefined when the file is too large, unreadable or no UTF-8; `problem` then says so. */
  readonly text: string | undefined;
  readonly problem: string | undefined;
}

interface TemplateFolder {
  /** Changes whenever a file is added, changed or removed; costs one `stat` per file. */
  signature(): Promise<string>;
  /** In the order of their names. Throws when the folder itself cannot be read. */
  read(): Promise<TemplateFile[]>;
}

const filesMax = 500;
const ownTemplates = 'service-templates';

/** Throws a `ConfigError` when the folder cannot be read. */
export async function signatureOf(folder: TemplateFolder): Promise<string> {
  try {
    return await folder.signature();
  } catch {
    throw new ConfigError('TEMPLATES_DIR names a folder that cannot be read. Correct it.');
  }
}

/**
 * The folder of the built-in registry, setting TEMPLATES_DIR: files that end in `.yaml` or `.yml`
 * (docs/reference/templates.md#loading). The default folder is found from any working directory.
 */
export function openTemplateFolder(setting: string): TemplateFolder {
  const own = fileURLToPath(new URL(`../${ownTemplates}`, import.meta.url));
  const path = setting === ownTemplates ? own : resolve(setting);
  const names = async () =>
    (await readdir(path))
      .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
      .toSorted()
      .slice(0, filesMax);

  return {
    async signature() {
      const marks = (await names()).map(async (name) => {
        const status = await stat(join(path, name)).catch(() => undefined);
        return [name, status?.mtimeMs, status?.size, status?.ino].join(' ');
      });
      return (await Promise.all(marks)).join('\n');
    },
    async read() {
      return Promise.all((await names()).map((name) => readTemplateFile(join(path, name), name)));
    },
  };
}

async function readTemplateFile(path: string, name: string): Promise<TemplateFile> {
  try {
    const { size } = await stat(path);
    // Looked at before reading: a file of any size may lie here.
    if (size > documentBytesMax) return { name, text: undefined, problem: 'larger than 1 MiB' };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
    return { name, text, problem: undefined };
  } catch (error) {
    const problem = error instanceof TypeError ? 'not UTF-8' : 'cannot be read';
    return { name, text: undefined, problem };
  }
}
