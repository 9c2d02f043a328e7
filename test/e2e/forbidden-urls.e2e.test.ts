import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

import { publicAddresses } from '../../services-src/egress/spellings.testing.ts';
import { needs } from '../support/needs.ts';
import type { EntryReport } from './forbidden-urls/product.testing.ts';

const isEverything = process.env['FORBIDDEN_URLS'] === 'all';
const namespaces = needs('network namespaces');

/** `npm run test:forbidden-urls` tries every URL through every entry, here each entry gets a part. */
test.runIf(namespaces.available)(
  `no entry leads to a forbidden address, by any spelling${namespaces.note}`,
  async () => {
    const parts = isEverything ? 2 : 1;
    const reports = await Promise.all(
      Array.from({ length: parts }, async (_, part) => {
        const script = 'test/e2e/forbidden-urls/canaries.testing.ts';
        const running = promisify(execFile)('unshare', ['-rn', process.execPath, script], {
          env: { ...process.env, FORBIDDEN_URLS_PART: `${part}/${parts}` },
        });
        // How far it is, an entry a line.
        running.child.stderr?.pipe(process.stderr);
        return JSON.parse((await running).stdout) as EntryReport[];
      }),
    );
    const report = reports.flat();

    expect(report.length).toBeGreaterThanOrEqual(46);
    for (const { name, tried, reached, told, missed, mishaps, isNeverCalled } of report) {
      expect(reached, name).toEqual([]);
      expect(tried, name).toBeGreaterThanOrEqual(isEverything ? 1_065 : 30);
      // The entry is no use as a test if the URLs did not get as far as it is about.
      expect(mishaps, name).toEqual([]);
      expect(missed, name).toEqual(isNeverCalled ? publicAddresses : []);
      if (isNeverCalled) expect(told, name).toBeGreaterThanOrEqual(tried);
    }
  },
  isEverything ? 3_600_000 : 600_000,
);
