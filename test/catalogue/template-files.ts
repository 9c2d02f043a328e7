import { readFileSync, readdirSync } from 'node:fs';

import type { CompiledTemplate } from '#contracts/template';
import { compileTemplate } from '../../registry/compiler/domain/template.ts';

const templatesUrl = new URL('../../service-templates/', import.meta.url);

/** The built-in templates, by file name. */
export const templateFiles = readdirSync(templatesUrl).filter((name) => /\.ya?ml$/.test(name));

export function readTemplateFile(file: string): string {
  return readFileSync(new URL(file, templatesUrl), 'utf8');
}

/** Compiles one built-in template; throws if it does not compile. */
export function compileFile(file: string): CompiledTemplate {
  const { template } = compileTemplate(readTemplateFile(file), {
    tier: 'global',
    ownerId: null,
    version: 1,
  });
  if (!template) throw new Error(`${file} does not compile`);
  return template;
}
