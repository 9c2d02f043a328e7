import { describe, expect, test } from 'vitest';

import {
  findPasswordProblem,
  formatPasswordHash,
  normalizePassword,
  parsePasswordHash,
} from './password.ts';

const email = 'Ann.Long.Name@example.com';

describe('a new password', () => {
  test.for([
    'CANARY-long!',
    'a b c d e f ',
    'correct horse battery staple',
    'пароль-длинный',
    '😀😁😂🤣😃😄😅😆😉😊😋😎',
    'CANARY'.padEnd(200, 'x'),
  ])('may be %j', (password) => {
    expect(findPasswordProblem(password, { email })).toBeNull();
  });

  test.for([
    ['eleven char', /at least 12/],
    ['', /at least 12/],
    ['😀😁😂🤣😃😄😅😆😉😊😋', /at least 12/],
    ['CANARY'.padEnd(201, 'x'), /at most 200/],
    ['aaaaaaaaaaaaaaaa', /repeats/],
    ['ann.long.name@EXAMPLE.com', /e-mail address/],
  ] as const)('may not be %j, for a reason that matches %s', ([password, problem]) => {
    expect(findPasswordProblem(password, { email })).toMatch(problem);
  });

  test('is the same password in composed and in decomposed Unicode', () => {
    expect(normalizePassword('e\u0301')).toBe(normalizePassword('\u00e9'));
  });
});

describe('a stored password hash', () => {
  const hash = {
    memory: 19_456,
    passes: 2,
    parallelism: 1,
    salt: Buffer.alloc(16, 1),
    tag: Buffer.alloc(32, 2),
  };

  test('is written as a PHC string, and reading the string gives the same hash', () => {
    const text = formatPasswordHash(hash);
    expect(text).toBe(
      '$argon2id$v=19$m=19456,t=2,p=1$AQEBAQEBAQEBAQEBAQEBAQ$AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI',
    );
    expect(parsePasswordHash(text)).toEqual(hash);
  });

  test.for([
    '',
    'plain',
    '$argon2i$v=19$m=19456,t=2,p=1$AQEBAQEBAQEBAQEB$AgICAgICAgICAgICAgICAgIC',
  ])('cannot be read from %j', (text) => {
    expect(() => parsePasswordHash(text)).toThrow('argon2id');
  });
});
