import { expect, test } from 'vitest';

import type { CallTarget, Injection } from '#contracts/permit';
import type { CompiledTemplate } from '#contracts/template';
import { requirePlainValue } from './require-plain-value.ts';

const keyFile = JSON.stringify({ app_id: 7, private_key: 'CANARY-key' });
const injection = {
  kind: 'secret',
  credentialName: 'app',
  in: 'header',
  key: 'X-Key',
  encoding: 'raw',
} as Injection;
const template = {
  auth: [{ scheme: 'key', type: 'apiKey', in: 'header', name: 'x-key' }],
} as unknown as CompiledTemplate;
const action = { kind: 'action' } as CallTarget;
const verb = { kind: 'verb' } as CallTarget;
const raw = { kind: 'raw' } as CallTarget;
const refusal = expect.objectContaining({ code: 'credential_missing' });

test.for<[string, CallTarget, CompiledTemplate | undefined]>([
  ['an action', action, template],
  ['a call by method and path', verb, template],
])('a secret of several parts is not sent whole by %s', ([, target, of]) => {
  const sendKeyFile = () => requirePlainValue(keyFile, { injection, target, template: of });
  expect(sendKeyFile).toThrow(refusal);
  expect(sendKeyFile).not.toThrow(/CANARY/);
});

test('a call that names a secret may send the secret whole', () => {
  requirePlainValue(keyFile, { injection, target: raw, template: undefined });
  const other = { ...injection, key: 'X-Other' };
  requirePlainValue(keyFile, { injection: other, target: verb, template });
});

test.for(['CANARY-token', 'user:{CANARY}', '{CANARY-token}', '["CANARY-token"]'])(
  'a plain value is sent: %s',
  (value) => {
    requirePlainValue(value, { injection, target: action, template });
  },
);
