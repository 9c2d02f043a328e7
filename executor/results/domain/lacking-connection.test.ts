import { expect, test } from 'vitest';

import type { Credential } from '../../request/domain/inject.ts';
import { lackingConnection } from './lacking-connection.ts';

const action = {
  security: [{ oauth: ['read'] }, { oauth: ['write'] }],
  minimumScopes: ['read'],
};

const credential = (
  credentialId: string,
  kind: 'connection' | 'secret' = 'connection',
  credentialName = 'notes',
): Pick<Credential, 'injection'> => ({
  injection: {
    kind,
    credentialId,
    credentialName,
    in: 'header',
    key: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw',
  },
});

test('the connection that lacks scopes of the action is found, even after its token was replaced', () => {
  const credentials = [credential('one'), credential('one')];
  const sentCall = { credentials, action };
  expect(lackingConnection({ missing_scopes: ['write'] }, sentCall)).toBe('one');
});

test('an action that an earlier release compiled has only the scopes of its first alternative', () => {
  const sentCall = { credentials: [credential('one')], action: { minimumScopes: ['read'] } };
  expect(lackingConnection({ missing_scopes: ['read'] }, sentCall)).toBe('one');
  expect(lackingConnection({ missing_scopes: ['write'] }, sentCall)).toBeUndefined();
});

test.for<
  [what: string, scopes: string[] | undefined, sent: Parameters<typeof lackingConnection>[1]]
>([
  ['no scope is missing', undefined, { credentials: [credential('one')], action }],
  [
    'the action does not name each scope',
    ['write', 'admin'],
    { credentials: [credential('one')], action },
  ],
  ['no action was called', ['write'], { credentials: [credential('one')] }],
  ['nothing was sent', ['write'], { credentials: [], action }],
  ['a secret was sent', ['write'], { credentials: [credential('one', 'secret')], action }],
  [
    'two accounts were sent',
    ['write'],
    { credentials: [credential('one'), credential('two')], action },
  ],
  [
    'it is an account of the org',
    ['write'],
    { credentials: [credential('one', 'connection', 'org/notes')], action },
  ],
])('no connection is found when %s', ([, missing_scopes, sentCall]) => {
  expect(lackingConnection({ missing_scopes }, sentCall)).toBeUndefined();
});
