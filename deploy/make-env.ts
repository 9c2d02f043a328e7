/**
 * `npm run compose:env`: makes `.env` for `docker compose up`, with random keys and passwords.
 * Refuses to overwrite one: the vault would be lost with its key.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';

import { components } from '#contracts/vocabulary';
import { composeSecrets } from './compose-secrets.ts';

const lines = Object.entries(composeSecrets(components, () => randomBytes(32))).map(
  ([name, value]) => `${name}=${value}`,
);
try {
  await writeFile('.env', `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o600 });
  process.stdout.write(
    'Wrote .env: keep it, and keep a copy: the vault cannot be read without it.\n',
  );
} catch (error) {
  const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
  process.stderr.write(
    exists
      ? '.env exists already; it is left as it is.\n'
      : `.env could not be written: ${String(error)}\n`,
  );
  process.exitCode = 1;
}
