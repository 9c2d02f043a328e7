import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

test('the build of the dashboard prints nothing, and writes a file with the licences of its packages', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aag-dashboard-build-'));
  try {
    const vite = join(root, 'node_modules/vite/bin/vite.js');
    // The same arguments as in scripts/bootstrap.mjs.
    const args = [vite, 'build', 'dashboard', '--logLevel', 'warn'];
    const output = await promisify(execFile)(
      process.execPath,
      [...args, '--outDir', folder, '--emptyOutDir'],
      { cwd: root },
    );
    expect(output).toEqual({ stdout: '', stderr: '' });
    const text = await readFile(join(folder, 'third-party-licenses.txt'), 'utf8');
    for (const name of ['solid-js', '@kobalte/core', '@tanstack/solid-query', 'tailwindcss'])
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, 'm'));
    const scripts = (await readdir(join(folder, 'assets'))).filter((name) => name.endsWith('.js'));
    for (const name of scripts)
      expect(await readFile(join(folder, 'assets', name), 'utf8'), name).not.toContain(root);
  } finally {
    await rm(folder, { recursive: true });
  }
});
