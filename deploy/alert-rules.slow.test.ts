import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { needs } from '../test/support/needs.ts';

const promtool = needs('promtool');

test.skipIf(!promtool.isAvailable)(
  `Prometheus accepts the configuration and its alert rules${promtool.note}`,
  () => {
    const path = fileURLToPath(new URL('monitoring/prometheus.yml', import.meta.url));
    const report = execFileSync('promtool', ['check', 'config', path], { encoding: 'utf8' });
    expect(report).toMatch(/SUCCESS: \d+ rules found/);
  },
);
