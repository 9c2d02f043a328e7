/**
 * `npm run secrets [-- --kubernetes] [--postgres HOST:PORT/DATABASE] [--nats HOST:PORT]`: makes the
 * folder `secrets/` for docker compose. It has one file for each key, each password and each URL
 * that contains a password. Existing files stay unchanged, because the vault cannot be read without
 * its old key. Values that an earlier version of compose kept in `.env` are taken from there.
 *
 * With `--kubernetes` the script also prints a Secret for each component of the chart, made from
 * the files. New URLs contain the addresses of the servers in compose, unless the other options
 * give the addresses of Postgres and NATS. Without a folder `secrets/`, `--kubernetes` makes one only
 * when both options are given: new keys would replace those in the cluster, and the vault could not
 * be read any more.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { components } from '#contracts/vocabulary';
import { readChartModel } from './chart-model.ts';
import { makeComposeSecrets, parseEnvFile, renderKubernetesSecrets } from './compose-secrets.ts';

const folder = 'secrets';
/**
 * Variables for the executor, about apps at OAuth providers. `docker-compose.yml` reads this file.
 */
const appsFile = 'oauth-apps.env';

try {
  const { values: options } = parseArgs({
    options: {
      kubernetes: { type: 'boolean', default: false },
      postgres: { type: 'string' },
      nats: { type: 'string' },
    },
  });
  // With --kubernetes, kubectl reads stdout, so messages for people go to stderr.
  const messageStream = options.kubernetes ? process.stderr : process.stdout;
  const isNew = (await readdir(folder).catch(() => [])).length === 0;
  if (options.kubernetes && isNew && !(options.postgres && options.nats)) {
    throw new Error(
      'there is no folder secrets/ with the keys of your installation. Copy it here from your backup; for a new installation, give the addresses with --postgres and --nats.',
    );
  }
  // Containers read single files under a user id other than the owner's. On this machine, only the
  // owner can enter the folder.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const appSecrets = join(folder, 'oauth-apps');
  await mkdir(appSecrets, { recursive: true });
  await chmod(appSecrets, 0o755);
  const fileNames = await readdir(folder);
  const fileValues = await Promise.all(
    fileNames
      .filter((name) => /^[A-Z_]+$/.test(name))
      .map(async (name) => [name, (await readFile(join(folder, name), 'utf8')).trim()] as const),
  );
  const envValues = parseEnvFile(await readEnvFile());
  const secrets = makeComposeSecrets(components, () => randomBytes(32), {
    existing: { ...envValues, ...Object.fromEntries(fileValues) },
    postgres: options.postgres,
    nats: options.nats,
  });
  const missingFiles = Object.entries({ ...secrets, [appsFile]: '' }).filter(
    ([name]) => !fileNames.includes(name),
  );
  for (const [name, value] of missingFiles) {
    const path = join(folder, name);
    await writeFile(path, value === '' ? '' : `${value}\n`, { flag: 'wx' });
    await chmod(path, 0o644);
  }
  messageStream.write(
    missingFiles.length === 0
      ? 'secrets/ is complete; it is left as it is.\n'
      : `Wrote ${missingFiles.length} files to secrets/: keep them, and keep a copy: the vault cannot be read without it.\n`,
  );
  const placedUrls = { postgres: 'DATABASE_URL', nats: 'PROVISION_NATS_URL' } as const;
  for (const option of ['postgres', 'nats'] as const) {
    if (options[option] === undefined || !fileNames.includes(placedUrls[option])) continue;
    messageStream.write(
      `--${option} changes no URL that secrets/ has already: edit these files.\n`,
    );
  }
  const movedNames = Object.keys(envValues).filter(
    (name) => name in secrets || name.startsWith('POSTGRES_PASSWORD_'),
  );
  if (movedNames.length > 0) {
    messageStream.write(
      `Compose reads these from secrets/ now; delete their lines from .env: ${movedNames.join(', ')}\n`,
    );
  }
  if (options.kubernetes) {
    const { components: chartComponents, migrate, servers } = readChartModel();
    const nats = servers.filter(({ name }) => name === 'nats');
    process.stdout.write(renderKubernetesSecrets(secrets, [...chartComponents, migrate, ...nats]));
  }
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  process.stderr.write(`secrets/ could not be written: ${reason}\n`);
  process.exitCode = 1;
}

async function readEnvFile(): Promise<string> {
  return readFile('.env', 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
}
