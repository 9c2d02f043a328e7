import { randomBytes } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { composeSecrets, missingLines } from './compose-secrets.ts';

const random = () => randomBytes(32);

describe('the lines that an .env lacks', () => {
  test('are all of them where there is none', () => {
    const names = missingLines('', components, random).map((line) => line.split('=')[0]);

    expect(names).toEqual(Object.keys(composeSecrets(components, random)));
  });

  test('are none where it is complete', () => {
    const env = missingLines('', components, random).join('');

    expect(missingLines(env, components, random)).toEqual([]);
  });

  test('are those of an upgrade, and what is there stays', () => {
    const env = 'MASTER_KEY=old\nPRINCIPAL_KEY=old\n';
    const added = missingLines(env, components, random).join('');

    expect(added).toMatch(/^PRINCIPAL_KEY_AUTH=/m);
    expect(added).not.toMatch(/^(MASTER_KEY|PRINCIPAL_KEY)=/m);
  });

  test('have the public key of the decision key that is there', () => {
    const key = randomBytes(32).toString('base64url');

    expect(missingLines(`DECISION_KEY="${key}"`, components, random)).toContain(
      `DECISION_PUBLIC_KEY=${publicKeyOf(key)}\n`,
    );
  });
});
