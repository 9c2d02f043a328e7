/**
 * `npm run compose:env`: makes `.env` for `docker compose up`, with random keys and passwords. To one
 * that exists it adds what it lacks, as after an upgrade, and changes no line of it: the vault would
 * be lost with its key.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';

import { components } from '#contracts/vocabulary';
import { missingLines } from './compose-secrets.ts';

try {
  const env = await readFile('.env', 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  const lines = missingLines(env, components, () => randomBytes(32));
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
