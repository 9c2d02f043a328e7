import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { createSigner, createVerifier } from './statements.ts';

const schema = z.strictObject({ who: z.string() });
const key = (letter: string) => letter.repeat(43);
const refused = expect.objectContaining({ code: 'unauthenticated' });

describe('a statement for several verifiers', () => {
  const signed = createSigner('principal', key('a'), key('b')).sign({ who: 'ann' });

  test('convinces each by its own key, and nobody else', () => {
    const read = (letter: string) =>
      createVerifier('principal', key(letter), schema).verify(signed);
    expect(read('a')).toEqual({ who: 'ann' });
    expect(read('b')).toEqual({ who: 'ann' });
    expect(() => read('c')).toThrow(refused);
  });

  test('what one verifier could sign convinces no other', () => {
    const forged = createSigner('principal', key('b')).sign({ who: 'admin' });
    const [payload = ''] = forged.split('.');
    const [idOfA = ''] = (signed.split('.')[1] ?? '').split(':');
    const macOfB = forged.split(':')[1] ?? '';
    const verifier = createVerifier('principal', key('a'), schema);

    expect(() => verifier.verify(forged)).toThrow(refused);
    expect(() => verifier.verify(`${payload}.${idOfA}:${macOfB}`)).toThrow(refused);
    // The genuine MAC of another statement.
    expect(() => verifier.verify(`${payload}.${signed.split('.')[1]}`)).toThrow(refused);
  });

  test('names its keys without showing them', () => {
    expect(signed).not.toContain(key('a'));
    const ids = (signed.split('.')[1] ?? '').split(',').map((mac) => mac.split(':')[0]);
    expect(new Set(ids).size).toBe(2);
  });
});

test.for([
  ['nothing', ''],
  ['no MAC', 'e30.'],
  ['no payload', '.abc:def'],
  ['an empty MAC', 'e30.abcdefghijkl:'],
  ['a thousand MACs', `e30.${'x:y,'.repeat(1000)}`],
])('%s is refused', ([, text]) => {
  const verifier = createVerifier('gap', key('a'), schema);
  expect(() => verifier.verify(text ?? '')).toThrow(refused);
});

test('a statement for one purpose is none for another', () => {
  const permit = createSigner('permit', key('a')).sign({ who: 'ann' });
  expect(() => createVerifier('gap', key('a'), schema).verify(permit)).toThrow(refused);
});
