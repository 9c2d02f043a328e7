import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { needs } from '../test/support/needs.ts';

const promtool = needs('promtool');

test.skipIf(!promtool.isAvailable)(
  `the alert rules are rules of Prometheus${promtool.note}`,
  () => {
    const rulesPath = fileURLToPath(new URL('monitoring/alerts.yml', import.meta.url));
    const report = execFileSync('promtool', ['check', 'rules', rulesPath], { encoding: 'utf8' });
    expect(report).toMatch(/SUCCESS: \d+ rules found/);
  },
);
