import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeAll, describe, expect, test } from 'vitest';

import { checkKubeObjects } from './check-kube-objects.ts';
import { renderChart, renderNotes } from './render-chart.ts';
import { buildRenderer } from './renderer-program.ts';

const tinyChart = fileURLToPath(new URL('tiny-chart', import.meta.url));
const release = { chartFolder: tinyChart, releaseName: 'one', namespace: 'shop' };
const publicUrl = 'https://gateway.example.com';

// Downloads Go if the renderer is not in the cache.
beforeAll(buildRenderer, 900_000);

/** Renders the tiny chart after these files of its folder were replaced or added. */
async function renderChanged(
  files: Readonly<Record<string, string>>,
  values: Readonly<Record<string, unknown>> = { publicUrl },
) {
  const chartFolder = await mkdtemp(join(tmpdir(), 'aag-chart-'));
  try {
    await cp(tinyChart, chartFolder, { recursive: true });
    for (const [name, text] of Object.entries(files))
      await writeFile(join(chartFolder, name), text);
    return await renderChart({ ...release, chartFolder, values });
  } finally {
    await rm(chartFolder, { recursive: true });
  }
}

/**
 * Renders the tiny chart with a ConfigMap of these data lines in place of the deployment. Returns
 * the data of the rendered ConfigMap.
 */
async function renderData(lines: string, values: Readonly<Record<string, unknown>> = {}) {
  const template = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n${lines}\n`;
  const objects = await renderChanged(
    { 'templates/deployment.yaml': template },
    { publicUrl, ...values },
  );
  return objects.find(({ metadata }) => metadata.name === 'x')?.['data'];
}

describe('a rendered chart', () => {
  test('contains the name of the chart, the release and the values, in objects that a cluster accepts', async () => {
    const objects = await renderChart({ ...release, values: { publicUrl, replicas: 3 } });
    expect(await checkKubeObjects(objects)).toEqual([]);
    const labels = { 'app.kubernetes.io/name': 'tiny', 'app.kubernetes.io/instance': 'one' };
    expect(objects).toEqual([
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'one-words' },
        data: {
          greeting: 'Hello from one',
          words: 'first\nsecond\n',
          lines: 'first,second',
          parsed: '7',
          existing: '0',
          template: 'tiny/templates/config.yaml',
          missing: '[]',
        },
      },
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'one-tiny', namespace: 'shop', labels },
        spec: {
          replicas: 3,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              containers: [
                {
                  name: 'tiny',
                  image: 'example.com/tiny:4.5.6',
                  env: [
                    { name: 'PUBLIC_URL', value: publicUrl },
                    { name: 'LOG_LEVEL', value: 'info' },
                    // A number from the values is a float. Go, and therefore Helm, prints it in
                    // this form.
                    { name: 'MAX_BYTES', value: '1.048576e+06' },
                  ],
                  resources: { limits: { memory: '64Mi', cpu: 1 } },
                },
              ],
            },
          },
        },
      },
    ]);
  });

  test('merges the given tables into those of the chart, replaces lists, and leaves out nulls', async () => {
    const values = {
      image: { tag: '9' },
      settings: { LOG_LEVEL: null, EXTRA: 'yes', LIST: [3] },
      resources: null,
    };
    expect(
      await renderData('  all: {{ omit .Values "greeting" | toJson | quote }}', values),
    ).toEqual({
      all: JSON.stringify({
        image: { repository: 'example.com/tiny', tag: '9' },
        monitor: false,
        publicUrl,
        replicas: 1,
        settings: { EXTRA: 'yes', LIST: [3], MAX_BYTES: 1_048_576 },
      }),
    });
  });

  test('can include one template in another, and can render templates that are in values (tpl)', async () => {
    const lines = '  a: {{ tpl .Values.greeting . }}\n  b: {{ include "tiny.labels" . | quote }}';
    const greeting =
      '{{ define "again" }}{{ .Release.Name }} again{{ end }}{{ include "again" . }}';
    expect(await renderData(lines, { greeting })).toEqual({
      a: 'one again',
      b: 'app.kubernetes.io/name: tiny\napp.kubernetes.io/instance: one',
    });
  });

  test('contains an object for an API of the cluster only if the cluster offers this API', async () => {
    const kinds = async (apiVersions: readonly string[]) =>
      (await renderChart({ ...release, values: { publicUrl }, apiVersions })).map(
        ({ kind }) => kind,
      );
    expect(await kinds([])).toEqual(['ConfigMap', 'Deployment']);
    expect(await kinds(['monitoring.coreos.com/v1'])).toEqual([
      'ConfigMap',
      'ServiceMonitor',
      'Deployment',
    ]);
  });

  test('reads YAML as Helm does, so that an unquoted n is a boolean', async () => {
    const objects = await renderChart({ ...release, namespace: 'n', values: { publicUrl } });
    expect(await checkKubeObjects(objects)).toEqual([
      'Deployment one-tiny: /metadata/namespace must be string.',
    ]);
  });

  test('has the text of NOTES.txt', async () => {
    expect(await renderNotes({ ...release, values: { publicUrl } })).toBe(`Open ${publicUrl}.\n`);
  });
});

describe('rendering fails', () => {
  test.for([
    ['a required value is missing', {}, 'set publicUrl to the URL of the gateway'],
    ['the chart calls fail', { publicUrl: 'http://x' }, 'publicUrl must begin with https://'],
    ['the schema refuses a value', { replicas: 0 }, 'replicas: Must be greater than or equal to 1'],
    [
      'the schema does not know a value',
      { replica: 2 },
      'Additional property replica is not allowed',
    ],
  ] as const)('when %s', async ([, values, message]) => {
    await expect(renderChart({ ...release, values })).rejects.toThrow(message);
  });

  test('when the chart requires a newer Kubernetes', async () => {
    const old = { ...release, values: { publicUrl }, kubeVersion: '1.24.0' };
    await expect(renderChart(old)).rejects.toThrow('the chart requires kubeVersion >=1.25.0-0');
  });

  test('when the folder contains no chart', async () => {
    const chartFolder = join(tinyChart, 'templates');
    await expect(renderChart({ ...release, chartFolder, values: {} })).rejects.toThrow(
      'Chart.yaml is missing',
    );
  });

  test.for([
    ['has an if without an end', '{{ if .Values.monitor }}', 'unexpected EOF'],
    ['calls an unknown function', '{{ env "HOME" }}', 'function "env" not defined'],
    ['includes an unknown template', '{{ include "tiny.nothing" . }}', 'tiny.nothing'],
    [
      'includes itself',
      '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}',
      'without end',
    ],
    ['renders to a key that occurs twice', 'kind: A\nkind: B', 'key "kind" already set'],
    ['renders to something that is not an object', '- a', 'is not an object of Kubernetes'],
  ] as const)('when a template %s', async ([, text, message]) => {
    await expect(renderChanged({ 'templates/config.yaml': text })).rejects.toThrow(message);
  });
});
