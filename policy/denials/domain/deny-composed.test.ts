import { describe, expect, test } from 'vitest';

import type { CompiledCompose } from '#contracts/composed-mail';
import { compilePattern } from '#permission-key';
import { actionOf, paramOf, templateOf } from '../../action.testing.ts';
import { neighbourNames } from './deny-names.ts';
import type { Neighbour } from './deny-names.ts';
import { couldDeny } from './deny-patterns.ts';
import { compileParamCheck } from './param-check.ts';
import { readQuery } from './sent-query.ts';
import type { SentRequest } from './sent-request.ts';

const list = { type: 'array', items: { type: 'string' } };
const compose: CompiledCompose = { format: 'rfc822', into: ['raw'], encoding: 'base64url' };
const send = actionOf('send', {
  method: 'POST',
  path: '/send',
  risk: 'write',
  body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
  scopeParam: [{ params: ['to[]', 'bcc[]'], label: 'recipient', as: 'email' }],
  params: [
    ...['to', 'bcc'].map((name) => paramOf(name, 'body', { schema: list, style: 'mail' })),
    paramOf('subject', 'body', { style: 'mail' }),
    paramOf('text', 'body', { style: 'mail' }),
  ],
  compose,
});
/** A template of the same API that has the composed text as a parameter. */
const { compose: _compose, ...uncomposed } = send;
const sendRaw = actionOf('send_raw', {
  ...uncomposed,
  key: 'send_raw',
  scopeParam: 'topic',
  params: [paramOf('topic', 'body'), paramOf('raw', 'body')],
});
const mail = templateOf([send], { key: 'mail' });
const older = templateOf([sendRaw], { key: 'older' });

function isDenied(rule: string, sent: Partial<SentRequest>, search = '') {
  const request: SentRequest = {
    method: 'POST',
    path: '/send',
    ...readQuery(search),
    body: null,
    ...sent,
  };
  const deny = compilePattern(rule, false);
  const neighbours = [mail, older].map((template): Neighbour => ({
    names: [template.key],
    prefix: '',
    template,
    fits: (param, value) => compileParamCheck(param.schema)(value),
  }));
  const names = neighbourNames(neighbours, request, { risk: 'write' });
  return names.some((name) => couldDeny(deny, name));
}

const toAcme = { to: ['ann@acme.example'], subject: 'Hi', text: 'Hello' };

describe('a deny rule for recipients of a composed message', () => {
  test('matches the recipients of a call that the executor composes, and no others', () => {
    const call = { body: { ...toAcme, bcc: ['eve@evil.example'] }, compose };
    expect(isDenied('mail:send:*@evil.example', call)).toBe(true);
    expect(isDenied('mail:send:*@evil.example', { body: toAcme, compose })).toBe(false);
    expect(isDenied('mail:send:ann@acme.example', { body: toAcme, compose })).toBe(true);
  });

  test.for<[what: string, sent: Partial<SentRequest>, search?: string]>([
    ['a raw call with the message alone', { body: { raw: 'VG86' } }],
    ['a raw call with recipients beside the message', { body: { ...toAcme, raw: 'VG86' } }],
    ['a raw call with recipients alone', { body: toAcme }],
    ['a raw call with recipients in the query', { body: { raw: 'VG86' } }, 'to=ann@acme.example'],
    ['a raw call with a text as body', { body: '{}' }],
    ['a raw call without a body', {}],
    [
      'a message that is composed elsewhere',
      { body: toAcme, compose: { ...compose, into: ['x'] } },
    ],
    [
      'a message that is composed in another encoding',
      { body: toAcme, compose: { ...compose, encoding: 'base64' } },
    ],
    ['a second message beside the composed one', { body: { ...toAcme, Raw: 'VG86' }, compose }],
    ['a second message in the query', { body: toAcme, compose }, 'raw=VG86'],
  ])('matches %s', ([, sent, search]) => {
    expect(isDenied('mail:send:*@evil.example', sent, search)).toBe(true);
    expect(isDenied('mail:send:ann@acme.example', sent, search)).toBe(true);
  });

  test('reads nothing of a composed body by an operation that does not compose', () => {
    const call = { body: { ...toAcme, topic: 'a' }, compose };
    expect(isDenied('older:send_raw:b', call)).toBe(true);
    expect(isDenied('older:send_raw:b', { body: { topic: 'a', raw: 'VG86' } })).toBe(false);
  });
});
