import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

import { needs } from '../../test/support/needs.ts';

const namespaces = needs('network namespaces');

interface Report {
  readonly tried: number;
  readonly forbidden: number;
  readonly live: number;
  readonly reached: readonly string[];
  readonly falseRefusals: readonly string[];
}

it.runIf(namespaces.available)(
  `names whose servers are silent hold up no call of another upstream${namespaces.note}`,
  async () => {
    const script = fileURLToPath(new URL('dead-names.testing.ts', import.meta.url));
    const run = await promisify(execFile)('unshare', ['-rnm', process.execPath, script]);
    expect(JSON.parse(run.stdout)).toEqual({ answered: '200', others: ['upstream_timeout'] });
  },
  60_000,
);

it.runIf(namespaces.available)(
  `in an opened network, containers of the installation are reached by none of their names${namespaces.note}`,
  async () => {
    const script = fileURLToPath(new URL('own-names.testing.ts', import.meta.url));
    const run = await promisify(execFile)('unshare', ['-rnm', process.execPath, script]);
    expect(JSON.parse(run.stdout)).toEqual({
      reached: [],
      neighbours: ['api', 'api:8222', '172.18.0.20:4222'],
    });
  },
  60_000,
);

describe('the guarded client, where every address has a listener', () => {
  it.runIf(namespaces.available)(
    `reaches none that is forbidden, by any spelling${namespaces.note}`,
    async () => {
      const script = fileURLToPath(new URL('canary.testing.ts', import.meta.url));
      const { stdout } = await promisify(execFile)('unshare', ['-rn', process.execPath, script]);
      const report: Report = JSON.parse(stdout);
      expect(report.reached).toEqual([]);
      expect(report.falseRefusals).toEqual([]);
      expect(report.tried).toBeGreaterThan(2000);
      // The listeners are no use if nobody could have reached them. Multicast and broadcast never can.
      expect(report.live).toBeGreaterThanOrEqual(report.forbidden - 8);
    },
    60_000,
  );
});
