import type { CompileOptions } from '../../document/domain/context.ts';
import { compileTemplate } from './template.ts';
import type { CompileResult } from './template.ts';
import { exampleDocument } from './example-document.testing.ts';
import type { ExampleDocument } from './example-document.testing.ts';

export type Change = (document: ExampleDocument) => void;

export const compileOptions: CompileOptions = {
  tier: 'org',
  ownerId: '0197e2b4-0000-7000-8000-000000000001',
  version: 3,
};

/** Compiles the example document after `change` has modified it. */
export function compileExample(
  change: Change = () => undefined,
  overrides: Partial<CompileOptions> = {},
): CompileResult {
  const document = exampleDocument();
  change(document);
  return compileTemplate(JSON.stringify(document, null, 2), { ...compileOptions, ...overrides });
}

/** Sets a property to a value that the TypeScript type of the example document does not allow. */
export function setMember(target: object, key: string, value: unknown): void {
  if (value === undefined) Reflect.deleteProperty(target, key);
  else Reflect.set(target, key, value);
}
