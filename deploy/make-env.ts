/**
 * `npm run compose:env`: writes `.env` for `docker compose up`, with random keys and passwords. If
 * the file exists, as before an upgrade, only the missing lines are added and no existing line
 * changes: without its old key, the vault could not be read.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';

import { components } from '#contracts/vocabulary';
import { listMissingLines } from './compose-secrets.ts';

try {
  const env = await readFile('.env', 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  const lines = listMissingLines(env, components, () => randomBytes(32));
  const separator = env === '' || env.endsWith('\n') ? '' : '\n';
  if (lines.length > 0) await appendFile('.env', separator + lines.join(''), { mode: 0o600 });
  process.stdout.write(
    lines.length === 0
      ? '.env is complete; it is left as it is.\n'
      : `Wrote ${lines.length} lines to .env: keep it, and keep a copy: the vault cannot be read without it.\n`,
  );
} catch (error) {
  process.stderr.write(`.env could not be written: ${String(error)}\n`);
  process.exitCode = 1;
}
