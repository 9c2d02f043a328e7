import { randomBytes } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { readComposeFile } from './compose-file.ts';
import { makeComposeSecrets, parseEnvFile } from './compose-secrets.ts';

const make = (existing?: Record<string, string>) =>
  makeComposeSecrets(components, () => randomBytes(32), existing);

describe('the secrets of docker-compose.yml', () => {
  test('are exactly the secrets that the script makes, each in its own file', () => {
    const { secrets } = readComposeFile();

    expect(Object.keys(secrets).toSorted()).toEqual(Object.keys(make()).toSorted());
    for (const [name, { file }] of Object.entries(secrets)) expect(file).toBe(`./secrets/${name}`);
  });

  test('are taken from what the installation has', () => {
    const secrets = make();

    expect(make({ ...secrets })).toEqual(secrets);
  });

  test('are taken from an .env that was made before there were files', () => {
    const key = randomBytes(32).toString('base64url');
    const secrets = make(
      parseEnvFile(
        `PORT=80\nMASTER_KEY=old\nexport DECISION_KEY="${key}"\nPOSTGRES_PASSWORD=pOwner\nPOSTGRES_PASSWORD_AUTH='pAuth'\nNATS_PASSWORD_AUDIT=pAudit\n`,
      ),
    );

    expect(secrets).toMatchObject({
      MASTER_KEY: 'old',
      DECISION_PUBLIC_KEY: publicKeyOf(key),
      DATABASE_URL: 'postgres://owner:pOwner@postgres:5432/gateway',
      AUTH_DATABASE_URL: 'postgres://auth:pAuth@postgres:5432/gateway',
      NATS_PASSWORD_AUDIT: 'pAudit',
      AUDIT_NATS_URL: 'nats://audit:pAudit@nats:4222',
    });
    expect(secrets).not.toHaveProperty('PORT');
  });

  test('give each component its own password, and the servers the same one', () => {
    const secrets = make();
    const passwords = Object.entries(secrets)
      .filter(([name]) => name.endsWith('_URL'))
      .map(([, url]) => new URL(url).password);

    expect(new Set(passwords).size).toBe(passwords.length);
    expect(new URL(secrets['PROVISION_NATS_URL'] ?? '').password).toBe(
      secrets['NATS_PASSWORD_PROVISION'],
    );
  });
});
