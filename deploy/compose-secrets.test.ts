import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempDisposable, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { readChartModel } from './chart-model.ts';
import { readComposeFile } from './compose-file.ts';
import { makeComposeSecrets, parseEnvFile, renderKubernetesSecrets } from './compose-secrets.ts';

const makeSecrets = (existing?: Record<string, string>) =>
  makeComposeSecrets(components, () => randomBytes(32), { existing: existing ?? {} });

describe('the secrets of docker-compose.yml', () => {
  test('are exactly the secrets that the script makes, each in a separate file', () => {
    const { secrets } = readComposeFile();

    expect(Object.keys(secrets).toSorted()).toEqual(Object.keys(makeSecrets()).toSorted());
    for (const [name, { file }] of Object.entries(secrets)) expect(file).toBe(`./secrets/${name}`);
  });

  test('stay unchanged when the installation already has them', () => {
    const secrets = makeSecrets();

    expect(makeSecrets({ ...secrets })).toEqual(secrets);
  });

  test('keep the values that an earlier version had in the .env file', () => {
    const key = randomBytes(32).toString('base64url');
    const secrets = makeSecrets(
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

  test('contain the address of NATS with or without TLS, as it is given', () => {
    const urlAt = (nats: string) =>
      makeComposeSecrets(components, () => randomBytes(32), { nats })['AUTH_NATS_URL'];

    expect(urlAt('tls://bus:4222')).toMatch(/^tls:\/\/auth:\w+@bus:4222$/);
    expect(urlAt('bus:4222?tls=off')).toMatch(/^nats:\/\/auth:\w+@bus:4222\?tls=off$/);
    expect(() => urlAt('bus:4222?tls=on')).toThrow('must be host:port');
  });

  test('are refused when the two halves of the decision key do not belong together', () => {
    const { DECISION_KEY: _, ...rest } = makeSecrets();

    expect(() => makeSecrets(rest)).toThrow(/To change the key, delete both files/);
  });

  test('are not made for Kubernetes where the keys of an installation are missing', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'aag-secrets-'));
    const program = fileURLToPath(new URL('make-secrets.ts', import.meta.url));
    const run = (...options: string[]) =>
      promisify(execFile)(process.execPath, [program, '--kubernetes', ...options], {
        cwd: folder.path,
      });

    await expect(run()).rejects.toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('Copy it here from your backup'),
    });
    expect(await readdir(folder.path)).toEqual([]);
    const made = await run('--postgres=db:5432/gateway', '--nats=nats:4222');
    expect(await run()).toMatchObject({ stdout: made.stdout });
  });

  test('contain a different password for each component, and the same password for its server', () => {
    const secrets = makeSecrets();
    const passwords = Object.entries(secrets)
      .filter(([name]) => name.endsWith('_URL'))
      .map(([, url]) => new URL(url).password);

    expect(new Set(passwords).size).toBe(passwords.length);
    expect(new URL(secrets['PROVISION_NATS_URL'] ?? '').password).toBe(
      secrets['NATS_PASSWORD_PROVISION'],
    );
  });
});

describe('the Kubernetes Secrets', () => {
  const { components: chartComponents, migrate } = readChartModel();
  const owners = [...chartComponents, migrate];
  const readSecrets = (text: string) =>
    parseAllDocuments(text, { version: '1.1' }).map((each) => each.toJS());

  test('contain for each component only the keys that it reads, with the same values as in compose', () => {
    const secrets = makeSecrets();
    const manifests = readSecrets(renderKubernetesSecrets(secrets, owners));

    expect(manifests.map(({ metadata }) => metadata.name)).toEqual(
      owners.map(({ name }) => `agent-action-gateway-${name}`),
    );
    const { services } = readComposeFile();
    for (const { metadata, stringData } of manifests) {
      const service = services[metadata.name.slice('agent-action-gateway-'.length)];
      expect(Object.keys(stringData).toSorted()).toEqual(service?.secrets?.toSorted());
      for (const [key, value] of Object.entries(stringData)) expect(value).toBe(secrets[key]);
    }
  });

  test('contain only strings, even for values that YAML would read as a number or a boolean', () => {
    const secrets = {
      ...makeSecrets(),
      EGRESS_CA: 'CANARY-a\nb',
      MASTER_KEY: '0123',
      CARD_KEY: 'off',
    };
    const manifests = readSecrets(renderKubernetesSecrets(secrets, owners));

    const executor = manifests.find(({ metadata }) => metadata.name.endsWith('-executor'));
    expect(executor.stringData).toMatchObject({
      EGRESS_CA: 'CANARY-a\nb',
      MASTER_KEY: '0123',
      CARD_KEY: 'off',
      EGRESS_PROXY: '',
    });
  });

  test('contain URLs with the addresses of Postgres and NATS that the options give', () => {
    const secrets = makeComposeSecrets(components, () => randomBytes(32), {
      postgres: 'db.example.com:6432/actions',
      nats: 'nats.bus:4222',
    });

    expect(new URL(secrets['AUTH_DATABASE_URL'] ?? '')).toMatchObject({
      host: 'db.example.com:6432',
      pathname: '/actions',
    });
    expect(new URL(secrets['AUTH_NATS_URL'] ?? '').host).toBe('nats.bus:4222');
  });

  test.for([
    { postgres: 'db.example.com' },
    { postgres: 'postgres://db.example.com:5432/gateway' },
    { postgres: 'db:5432/gateway x' },
    { nats: 'nats' },
    { nats: 'nats://nats:4222' },
  ])('are not made for the wrong address %j', (place) => {
    expect(() => makeComposeSecrets(components, () => randomBytes(32), place)).toThrow(
      /must be host:port/,
    );
  });
});
