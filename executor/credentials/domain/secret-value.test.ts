import { describe, expect, test } from 'vitest';

import { checkSecretValue, toStoredSecretValue } from './secret-value.ts';

describe('the value of a secret', () => {
  test.for([
    'long\nenough',
    'value\r',
    'value\0',
    'value\u007f',
    'value\u0085',
    'value\ud800',
    'abc',
  ])('%j is refused, even with as_is', (value) => {
    for (const asIs of [false, true]) {
      expect(() => checkSecretValue(value, { asIs })).toThrow(
        expect.objectContaining({
          code: 'invalid_params',
          details: { issues: [expect.anything()] },
        }),
      );
    }
  });

  test.for([
    [' CANARY', 'begin or end with a blank'],
    ['CANARY ', 'begin or end with a blank'],
    ['\u00a0CANARY', 'begin or end with a blank'],
    ['CANARY\u3000', 'begin or end with a blank'],
    ['CAN\u00a0ARY', 'invisible characters'],
    ['\ufeffCANARY', 'invisible characters'],
    ['CANARY\u200b', 'invisible characters'],
    ['CAN\u00adARY', 'invisible characters'],
    ['CANARY\u2028', 'invisible characters'],
    ['\u202eCANARY', 'invisible characters'],
    ['Bearer CANARY', 'scheme'],
    ['bearer  CANARY', 'scheme'],
    ['Basic CANARY==', 'scheme'],
    ['token CANARY', 'scheme'],
    ['Token token=CANARY', 'scheme'],
    ['SSWS CANARY', 'scheme'],
    ['Authorization: Bearer CANARY', 'scheme'],
    ['Authorization:CANARY', 'scheme'],
    ['X-Api-Key: CANARY', 'scheme'],
    ['"CANARY"', 'quotes'],
    ["'CANARY'", 'quotes'],
    ['{"client_id":"abc","client_secret":"CANARY "}', 'begin or end with a blank'],
    ['{"client_id":"\\u200babc","client_secret":"CANARY"}', 'invisible characters'],
    ['{"client_id":"abc","client_secret":"CANARY\\n"}', 'line breaks'],
  ] as const)(
    '%j is refused as probably pasted wrongly, without repeating the value, and accepted with as_is',
    ([value, told]) => {
      expect(() => checkSecretValue(value)).toThrow(
        expect.objectContaining({
          code: 'invalid_params',
          message: expect.stringMatching(new RegExp(`^(?!.*CANARY).*${told}.*as_is: true`)),
          details: expect.objectContaining({ reason: 'looks_pasted' }),
        }),
      );
      expect(() => checkSecretValue(value, { asIs: true })).not.toThrow();
    },
  );

  test.for([
    'CANARY',
    'user:correct horse',
    'ghp_CANARY',
    'Bearer',
    'ключ-CANARY',
    'a"b"c',
    'CANARY==',
    '{"scopes":["a b"],"port":1,"name":"a b c"}',
    '{not json',
  ])('%j is accepted', (value) => {
    expect(() => checkSecretValue(value)).not.toThrow();
  });
});

describe('the stored form of a value (toStoredSecretValue)', () => {
  test('has the members of a key file on one line', () => {
    const file =
      '{\n\t"client_email": "bot@example.com",\n\t"private_key": "-----BEGIN\\nabc"\n}\n';
    const stored = toStoredSecretValue(file);
    expect(() => checkSecretValue(stored)).not.toThrow();
    expect(JSON.parse(stored)).toEqual(JSON.parse(file));
  });

  test.for(['{ "a": 1 }', 'CANARY\n', '{CANARY\n}'])('is the same as the value %j', (value) => {
    expect(toStoredSecretValue(value)).toBe(value);
  });
});
