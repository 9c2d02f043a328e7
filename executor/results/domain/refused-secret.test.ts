import { expect, test } from 'vitest';

import type { Injection } from '#contracts/permit';
import type { CompiledTemplate } from '#contracts/template';
import { findRefusedSecret } from './refused-secret.ts';

const refused = { kind: 'credential_refused' } as const;
const carried = (fields: Partial<Injection> = {}) => ({
  injection: { kind: 'secret', credentialName: 'notes_token', ...fields } as Injection,
});
const derivation = {} as NonNullable<Injection['derivation']>;
const template = {
  key: 'notes',
  tier: 'global',
  auth: [{ type: 'apiKey', scheme: 'app', defaultSecretName: 'notes_app' }],
} as unknown as CompiledTemplate;

test('a refused secret is returned by name, with the template if it has several parts', () => {
  const find = (fields: Partial<Injection>, of = template) =>
    findRefusedSecret(refused, { credentials: [carried(fields)], template: of });
  expect(find({})).toEqual({ name: 'notes_token' });
  expect(find({ derivation })).toEqual({ name: 'notes_token', template: 'notes' });
  expect(find({ derivation, credentialName: 'org/app' }, { ...template, tier: 'user' })).toEqual({
    name: 'org/app',
  });
});

test('no secret is returned when an account or one of several credentials was refused, or nothing was', () => {
  const account = carried({ kind: 'connection' });
  expect(findRefusedSecret(refused, { credentials: [account] })).toBeUndefined();
  expect(findRefusedSecret(refused, { credentials: [carried(), account] })).toBeUndefined();
  expect(findRefusedSecret({ kind: 'forbidden' }, { credentials: [carried()] })).toBeUndefined();
});
