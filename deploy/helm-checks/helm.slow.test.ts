import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

import { needs } from '../../test/support/needs.ts';
import { releaseOf, valueSets } from '../chart-releases.testing.ts';
import type { KubeObject } from './kube-object.ts';
import { renderChart } from './render-chart.ts';
import type { Release } from './render-chart.ts';

const helm = needs('helm');
const kubeconform = needs('kubeconform');

const releases: readonly Release[] = [
  {
    chartFolder: fileURLToPath(new URL('tiny-chart', import.meta.url)),
    values: { publicUrl: 'https://gateway.example.com' },
    releaseName: 'one',
    namespace: 'shop',
    kubeVersion: '1.31.0',
    apiVersions: ['monitoring.coreos.com/v1'],
  },
  // An evaluation is left out: its keys and passwords are random, so no two outputs are equal.
  ...valueSets
    .filter(([, values]) => !('evaluation' in values))
    .map(([, values]) => ({ ...releaseOf(values), kubeVersion: '1.31.0' })),
];

/** Runs Helm with a release's values in a file; returns the output of Helm. */
async function runHelm(
  { values }: Release,
  makeArgs: (valuesFile: string) => readonly string[],
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'aag-helm-'));
  try {
    const valuesFile = join(folder, 'values.json');
    await writeFile(valuesFile, JSON.stringify(values));
    return execFileSync('helm', makeArgs(valuesFile), { encoding: 'utf8' });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The text that `helm template` prints. */
function renderWithHelm(release: Release): Promise<string> {
  const { releaseName, chartFolder, namespace, kubeVersion = '', apiVersions = [] } = release;
  return runHelm(release, (valuesFile) => [
    'template',
    releaseName,
    chartFolder,
    '--namespace',
    namespace,
    '--values',
    valuesFile,
    '--kube-version',
    kubeVersion,
    ...apiVersions.flatMap((version) => ['--api-versions', version]),
  ]);
}

/** Sorts objects by kind and name, because Helm prints them in the order of installation. */
function sortObjects(objects: readonly KubeObject[]): KubeObject[] {
  const keyOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`;
  return objects.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
}

describe.skipIf(!helm.isAvailable)(`Helm${helm.note}`, () => {
  test.for(releases)('finds no fault in the chart $chartFolder with lint', async (release) => {
    const report = await runHelm(release, (valuesFile) => [
      'lint',
      release.chartFolder,
      '--strict',
      '--values',
      valuesFile,
    ]);
    expect(report).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  test.for(releases)(
    "renders $chartFolder to the same objects as the tests' own renderer",
    async (release) => {
      const objects = parseAllDocuments(await renderWithHelm(release), { version: '1.1' })
        .map((document) => document.toJS() as KubeObject | null)
        .filter((object) => object !== null);
      expect(sortObjects(objects)).toEqual(sortObjects(await renderChart(release)));
    },
  );

  // kubeconform downloads the schemas of Kubernetes.
  test.skipIf(!kubeconform.isAvailable).for(releases)(
    `renders $chartFolder to objects that kubeconform accepts${kubeconform.note}`,
    async (release) => {
      const input = await renderWithHelm(release);
      const args = ['-strict', '-ignore-missing-schemas', '-summary', '-'];
      expect(execFileSync('kubeconform', args, { input, encoding: 'utf8' })).toContain(
        'Invalid: 0, Errors: 0',
      );
    },
  );
});
