import type { CompileOptions } from '../domain/context.ts';
import { compileTemplate } from '../domain/template.ts';
import type { CompileResult } from '../domain/template.ts';
import { exampleDocument } from './example-document.ts';
import type { ExampleDocument } from './example-document.ts';

export type Change = (document: ExampleDocument) => void;

export const compileOptions: CompileOptions = {
  tier: 'org',
  ownerId: '0197e2b4-0000-7000-8000-000000000001',
  version: 3,
};

/** Compiles the example document after a change. */
export function compile(
  change: Change = () => undefined,
  overrides: Partial<CompileOptions> = {},
): CompileResult {
  const document = exampleDocument();
  change(document);
  return compileTemplate(JSON.stringify(document, null, 2), { ...compileOptions, ...overrides });
}

/** Sets a value somewhere in a document whose type says it is always otherwise. */
export function put(target: object, key: string, value: unknown): void {
  if (value === undefined) Reflect.deleteProperty(target, key);
  else Reflect.set(target, key, value);
}
