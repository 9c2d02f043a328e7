import { describe, expect, test } from 'vitest';

import { answeredWords, questionOf, answerLinkOf } from './request-words.ts';

const id = '01a20d44-7375-7752-b14a-9a570b059c81';
const template = { key: 'github', title: 'GitHub' };

describe('the page of a request', () => {
  test('asks in the words of its kind', () => {
    expect(questionOf({ kind: 'service', template, name: 'work' })).toBe('Connect GitHub?');
    expect(questionOf({ kind: 'connection', template, name: 'work' })).toBe(
      'Connect the account work?',
    );
    expect(questionOf({ kind: 'secret', template: null, name: 'key' })).toBe(
      'Enter the secret key?',
    );
    expect(answeredWords({ kind: 'secret' })).toBe('is stored');
  });

  test('leads to the step of a secret and of an account with the scopes that were asked for', () => {
    expect(answerLinkOf({ id, kind: 'secret', scopes: [] })?.href).toBe(`/provide/${id}`);
    const account = { id, kind: 'connection', connection_id: 'c', scopes: ['a:b', 'c&d'] } as const;
    expect(answerLinkOf({ ...account, scopes: [...account.scopes] })?.href).toBe(
      '/connect/repair/c?scope=a%3Ab%20c%26d',
    );
    expect(answerLinkOf({ ...account, scopes: [] })?.href).toBe('/connect/repair/c');
  });

  test('has its own form for services, and no step', () => {
    expect(answerLinkOf({ id, kind: 'service', scopes: [] })).toBeNull();
  });
});
