import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { narrowing } from '../contracts/critical.ts';
import { payloadOf } from './payload.ts';
import { createSigner, createVerifier, macOf, payloadDigestOf, readKey } from './statements.ts';

const schema = z.strictObject({ who: z.string() });
const createKey = (letter: string) => letter.repeat(43);
const refusedError = expect.objectContaining({ code: 'unauthenticated' });

describe('a signed statement for several verifiers', () => {
  const signed = createSigner('principal', createKey('a'), createKey('b')).sign({ who: 'ann' });

  test('is accepted by each verifier with its own key, and with no other key', () => {
    const read = (letter: string) =>
      createVerifier('principal', createKey(letter), schema).verify(signed);
    expect(read('a')).toEqual({ who: 'ann' });
    expect(read('b')).toEqual({ who: 'ann' });
    expect(() => read('c')).toThrow(refusedError);
  });

  test('is refused by the remaining verifiers when one verifier forged it with its own key', () => {
    const forgedStatement = createSigner('principal', createKey('b')).sign({ who: 'admin' });
    const [payload = ''] = forgedStatement.split('.');
    const [idOfA = ''] = (signed.split('.')[1] ?? '').split(':');
    const macOfB = forgedStatement.split(':')[1] ?? '';
    const verifier = createVerifier('principal', createKey('a'), schema);

    expect(() => verifier.verify(forgedStatement)).toThrow(refusedError);
    expect(() => verifier.verify(`${payload}.${idOfA}:${macOfB}`)).toThrow(refusedError);
    // The other part is the genuine MAC of another statement.
    expect(() => verifier.verify(`${payload}.${signed.split('.')[1]}`)).toThrow(refusedError);
  });

  test('contains identifiers of its keys that do not reveal the keys', () => {
    expect(signed).not.toContain(createKey('a'));
    const ids = (signed.split('.')[1] ?? '').split(',').map((mac) => mac.split(':')[0]);
    expect(new Set(ids).size).toBe(2);
  });
});

test.for([
  ['no text', ''],
  ['no MAC', 'e30.'],
  ['no payload', '.abc:def'],
  ['an empty MAC', 'e30.abcdefghijkl:'],
  ['a thousand MACs', `e30.${'x:y,'.repeat(1000)}`],
])('a signed statement with %s is refused', ([, text]) => {
  const verifier = createVerifier('gap', createKey('a'), schema);
  expect(() => verifier.verify(text ?? '')).toThrow(refusedError);
});

test('a signed statement is refused by a verifier for another purpose', () => {
  const permit = createSigner('permit', createKey('a')).sign({ who: 'ann' });
  expect(() => createVerifier('gap', createKey('a'), schema).verify(permit)).toThrow(refusedError);
});

describe('a genuine statement of another release', () => {
  const laterSchema = z.strictObject({
    who: z.string(),
    note: z.string().optional(),
    until: narrowing(z.int()).optional(),
  });
  /** Signs by the schema of the later release. */
  const sign = (statement: z.infer<typeof laterSchema>) => {
    const payload = payloadOf('permit', statement, laterSchema);
    const mac = macOf(readKey(createKey('a')), payloadDigestOf('permit', payload)).toString(
      'base64url',
    );
    return `${payload}.${readKey(createKey('a')).id}:${mac}`;
  };
  const read = (signed: string, by: z.ZodType = schema) =>
    createVerifier('permit', createKey('a'), by).verify(signed);

  test('is accepted without an unknown member that narrows nothing', () => {
    expect(read(sign({ who: 'ann', note: 'hello' }))).toEqual({ who: 'ann' });
  });

  test('is left to another replica when it has a limit that this release does not know', () => {
    const signed = sign({ who: 'ann', until: 5 });
    expect(() => read(signed)).toThrow(
      expect.objectContaining({
        code: 'unavailable',
        details: { unknown_critical: ['until'], ask_again: true },
      }),
    );
    expect(read(signed, laterSchema)).toEqual({ who: 'ann', until: 5 });
  });

  test('is left to another replica when this release cannot read it', () => {
    const strangeSchema = z.strictObject({ who: z.enum(['ann']) });
    expect(() => read(sign({ who: 'bob' }), strangeSchema)).toThrow(
      expect.objectContaining({
        code: 'unavailable',
        details: { unreadable: 'permit', ask_again: true },
      }),
    );
  });
});
