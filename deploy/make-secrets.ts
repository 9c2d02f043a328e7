/**
 * `npm run secrets`: makes the folder `secrets/` for docker compose, with one file for each key,
 * password and URL that holds a password. Files that exist stay as they are: without its old key,
 * the vault could not be read. What an earlier version of compose kept in `.env` is taken from there.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { components } from '#contracts/vocabulary';
import { makeComposeSecrets, parseEnvFile } from './compose-secrets.ts';

const folder = 'secrets';
/** The variables of the executor for apps at OAuth providers, which `docker-compose.yml` reads. */
const appsFile = 'oauth-apps.env';

try {
  // Containers read single files as other users than the owner; nobody else can enter the folder.
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
    ...envValues,
    ...Object.fromEntries(fileValues),
  });
  const missingFiles = Object.entries({ ...secrets, [appsFile]: '' }).filter(
    ([name]) => !fileNames.includes(name),
  );
  for (const [name, value] of missingFiles) {
    const path = join(folder, name);
    await writeFile(path, value === '' ? '' : `${value}\n`, { flag: 'wx' });
    await chmod(path, 0o644);
  }
  process.stdout.write(
    missingFiles.length === 0
      ? 'secrets/ is complete; it is left as it is.\n'
      : `Wrote ${missingFiles.length} files to secrets/: keep them, and keep a copy: the vault cannot be read without it.\n`,
  );
  const movedNames = Object.keys(envValues).filter(
    (name) => name in secrets || name.startsWith('POSTGRES_PASSWORD_'),
  );
  if (movedNames.length > 0) {
    process.stdout.write(
      `Compose reads these from secrets/ now; delete their lines from .env: ${movedNames.join(', ')}\n`,
    );
  }
} catch (error) {
  process.stderr.write(`secrets/ could not be written: ${String(error)}\n`);
  process.exitCode = 1;
}

async function readEnvFile(): Promise<string> {
  return readFile('.env', 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
}
