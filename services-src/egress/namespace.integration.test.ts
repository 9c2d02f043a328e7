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

it.runIf(namespaces.isAvailable)(
  `host names whose name servers do not answer delay no call to another upstream${namespaces.note}`,
  async () => {
    const scriptPath = fileURLToPath(new URL('dead-names.testing.ts', import.meta.url));
    const scriptRun = await promisify(execFile)('unshare', ['-rnm', process.execPath, scriptPath]);
    expect(JSON.parse(scriptRun.stdout)).toEqual({ answered: '200', others: ['upstream_timeout'] });
  },
  60_000,
);

it.runIf(namespaces.isAvailable)(
  `no host name reaches a container of the installation in a private network that the operator allowed${namespaces.note}`,
  async () => {
    const scriptPath = fileURLToPath(new URL('own-names.testing.ts', import.meta.url));
    const scriptRun = await promisify(execFile)('unshare', ['-rnm', process.execPath, scriptPath]);
    expect(JSON.parse(scriptRun.stdout)).toEqual({
      reached: [],
      neighbours: ['api', 'api:8222', '172.18.0.20:4222'],
    });
  },
  60_000,
);

describe('the client for outgoing calls, in a network where every address has a listener', () => {
  it.runIf(namespaces.isAvailable)(
    `connects to no forbidden address, whatever notation the URL uses${namespaces.note}`,
    async () => {
      const scriptPath = fileURLToPath(new URL('canary.testing.ts', import.meta.url));
      const { stdout } = await promisify(execFile)('unshare', [
        '-rn',
        process.execPath,
        scriptPath,
      ]);
      const report: Report = JSON.parse(stdout);
      expect(report.reached).toEqual([]);
      expect(report.falseRefusals).toEqual([]);
      expect(report.tried).toBeGreaterThan(2000);
      // The test proves something only if the listeners can be reached. Multicast and broadcast
      // addresses cannot.
      expect(report.live).toBeGreaterThanOrEqual(report.forbidden - 8);
    },
    60_000,
  );
});
