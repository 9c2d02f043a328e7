import { randomBytes } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { makeComposeSecrets, listMissingLines } from './compose-secrets.ts';

const createRandomKey = () => randomBytes(32);

describe('the lines that an .env lacks', () => {
  test('are all lines when there is no .env', () => {
    const names = listMissingLines('', components, createRandomKey).map(
      (line) => line.split('=')[0],
    );

    expect(names).toEqual(Object.keys(makeComposeSecrets(components, createRandomKey)));
  });

  test('are none when the .env is complete', () => {
    const envText = listMissingLines('', components, createRandomKey).join('');

    expect(listMissingLines(envText, components, createRandomKey)).toEqual([]);
  });

  test('are those that an upgrade needs, without any that the .env already has', () => {
    const envText = 'MASTER_KEY=old\nPRINCIPAL_KEY=old\n';
    const addedLines = listMissingLines(envText, components, createRandomKey).join('');

    expect(addedLines).toMatch(/^PRINCIPAL_KEY_AUTH=/m);
    expect(addedLines).not.toMatch(/^(MASTER_KEY|PRINCIPAL_KEY)=/m);
  });

  test('contain the public key of the decision key that the .env has', () => {
    const key = randomBytes(32).toString('base64url');

    expect(listMissingLines(`DECISION_KEY="${key}"`, components, createRandomKey)).toContain(
      `DECISION_PUBLIC_KEY=${publicKeyOf(key)}\n`,
    );
  });
});
