import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

import { publicAddresses } from '../../services-src/egress/spellings.testing.ts';
import { needs } from '../support/needs.ts';
import type { EntryReport } from './forbidden-urls/product.testing.ts';

const isFullRun = process.env['FORBIDDEN_URLS'] === 'all';
const namespaces = needs('network namespaces');

/**
 * This test gives some of the URLs to each feature that takes a URL; `npm run test:forbidden-urls`
 * gives every URL to every feature.
 */
test.runIf(namespaces.isAvailable)(
  `no feature that takes a URL connects to a forbidden address, however it is spelled${namespaces.note}`,
  async () => {
    const partCount = isFullRun ? 2 : 1;
    const reports = await Promise.all(
      Array.from({ length: partCount }, async (_, partIndex) => {
        const script = 'test/e2e/forbidden-urls/canaries.testing.ts';
        const productRun = promisify(execFile)('unshare', ['-rn', process.execPath, script], {
          env: { ...process.env, FORBIDDEN_URLS_PART: `${partIndex}/${partCount}` },
        });
        // stderr shows the progress, one entry point per line.
        productRun.child.stderr?.pipe(process.stderr);
        return JSON.parse((await productRun).stdout) as EntryReport[];
      }),
    );
    const entryReports = reports.flat();

    expect(entryReports.length).toBeGreaterThanOrEqual(46);
    for (const { name, tried, reached, told, missed, mishaps, isNeverCalled } of entryReports) {
      expect(reached, name).toEqual([]);
      expect(tried, name).toBeGreaterThanOrEqual(isFullRun ? 1_065 : 9);
      // An attempt that failed for a reason other than the URL does not count as a test of the
      // feature.
      expect(mishaps, name).toEqual([]);
      expect(missed, name).toEqual(isNeverCalled ? publicAddresses : []);
      if (isNeverCalled) expect(told, name).toBeGreaterThanOrEqual(tried);
    }
  },
  isFullRun ? 3_600_000 : 600_000,
);
