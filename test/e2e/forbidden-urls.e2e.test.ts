import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

import { needs } from '../support/needs.ts';
import type { EntryReport } from './forbidden-urls/product.testing.ts';

const namespaces = needs('network namespaces');

/** `npm run test:forbidden-urls` tries every URL through every entry, here each entry gets a part. */
test.runIf(namespaces.available)(
  `no entry leads to a forbidden address, by any spelling${namespaces.note}`,
  async () => {
    const { stdout } = await promisify(execFile)('unshare', [
      '-rn',
      process.execPath,
      'test/e2e/forbidden-urls/canaries.testing.ts',
    ]);
    const report: EntryReport[] = JSON.parse(stdout);
    if (process.env['FORBIDDEN_URLS'] === 'all') process.stdout.write(`${stdout}\n`);

    expect(report.length).toBeGreaterThanOrEqual(8);
    for (const { name, tried, reached, atPublic } of report) {
      expect(reached, name).toEqual([]);
      expect(tried, name).toBeGreaterThanOrEqual(30);
      // The entry is no use as a test if nothing could get through it.
      expect(atPublic, name).toBeGreaterThan(0);
    }
  },
  process.env['FORBIDDEN_URLS'] === 'all' ? 1_800_000 : 300_000,
);
