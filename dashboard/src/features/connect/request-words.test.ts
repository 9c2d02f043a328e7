import { describe, expect, test } from 'vitest';

import { answeredWords, questionOf, answerLinkOf } from './request-words.ts';

const id = '01a20d44-7375-7752-b14a-9a570b059c81';
const template = { key: 'github', title: 'GitHub' };

describe('the page of a request', () => {
  test('has a heading that depends on the kind of the request', () => {
    expect(questionOf({ kind: 'service', template, name: 'work' })).toBe('Connect GitHub?');
    expect(questionOf({ kind: 'connection', template, name: 'work' })).toBe(
      'Connect the account work?',
    );
    expect(questionOf({ kind: 'secret', template: null, name: 'key' })).toBe(
      'Enter the secret key?',
    );
    expect(answeredWords({ kind: 'secret' })).toBe('is stored');
  });

  test('links to the page for entering the secret, or for connecting the account with the requested scopes', () => {
    expect(answerLinkOf({ id, kind: 'secret', scopes: [] })?.href).toBe(`/provide/${id}`);
    const account = { id, kind: 'connection', connection_id: 'c', scopes: ['a:b', 'c&d'] } as const;
    expect(answerLinkOf({ ...account, scopes: [...account.scopes] })?.href).toBe(
      '/connect/repair/c?scope=a%3Ab%20c%26d',
    );
    expect(answerLinkOf({ ...account, scopes: [] })?.href).toBe('/connect/repair/c');
  });

  test('has a form and no such link if the request is for a service', () => {
    expect(answerLinkOf({ id, kind: 'service', scopes: [] })).toBeNull();
  });
});
