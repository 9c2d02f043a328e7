import { readFileSync, readdirSync } from 'node:fs';

import type { CompiledTemplate } from '#contracts/template';
import { compileTemplate } from '../../registry/domain/template.ts';

const directory = new URL('../../service-templates/', import.meta.url);

/** The built-in templates, by file name. */
export const templateFiles = readdirSync(directory).filter((name) => /\.ya?ml$/.test(name));

export function readTemplateFile(file: string): string {
  return readFileSync(new URL(file, directory), 'utf8');
}

/** One of them, compiled; throws when it does not compile. */
export function compileFile(file: string): CompiledTemplate {
  const { template } = compileTemplate(readTemplateFile(file), {
    tier: 'global',
    ownerId: null,
    version: 1,
  });
  if (!template) throw new Error(`${file} does not compile`);
  return template;
}
