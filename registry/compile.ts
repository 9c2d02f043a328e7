import { compileTemplate } from './domain/template.ts';
import type { CompileResult } from './domain/template.ts';

/** Compiles what an author wrote; its version is decided when it is saved. */
export type Compile = (
  text: string,
  owner: { readonly tier: 'user' | 'org'; readonly ownerId: string },
) => Promise<CompileResult>;

export function createCompile(options: {
  readonly isPlainHttpAllowed: (host: string) => boolean;
}): Compile {
  return async (text, owner) =>
    compileTemplate(text, { ...owner, ...options, version: 1, isDraft: true });
}
