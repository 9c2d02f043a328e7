import { runProgram } from '../../services-src/embedded/run-program.ts';
import type { KubeObject } from './kube-object.ts';
import { buildRenderer } from './renderer-program.ts';

export interface Release {
  /** The folder with `Chart.yaml`. */
  readonly chartFolder: string;
  /** The values as given with `--values`. They are merged over the chart's `values.yaml`. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly releaseName: string;
  readonly namespace: string;
  /** The version of Kubernetes; the default is 1.31.0. */
  readonly kubeVersion?: string;
  /**
   * The APIs of the cluster in addition to those of Kubernetes, for example
   * `monitoring.coreos.com/v1`.
   */
  readonly apiVersions?: readonly string[];
}

const renderTimeoutMs = 60_000;

/**
 * Renders the objects that `helm template` prints for a release, including hooks, sorted by the
 * names of the templates. The renderer uses Go's text/template, sprig and Helm's YAML library. So
 * an unquoted `yes` is a boolean, and a number from the values is printed as in Helm: 1048576 as
 * `1.048576e+06`.
 *
 * The first call builds the renderer: see `buildRenderer`.
 *
 * @throws Error with the message of `fail` or `required`, or with a description of what Helm would
 * refuse: a broken template, values that `values.schema.json` refuses, text that is not YAML, or a
 * duplicate key.
 */
export async function renderChart(release: Release): Promise<KubeObject[]> {
  return (await render(release)).objects;
}

/** The text of `templates/NOTES.txt` for a release. Throws the same errors as `renderChart`. */
export async function renderNotes(release: Release): Promise<string> {
  return (await render(release)).notes;
}

interface Output {
  readonly objects: KubeObject[];
  readonly notes: string;
  /** The error message; empty if the chart was rendered. */
  readonly error: string;
}

async function render({
  chartFolder,
  kubeVersion = '1.31.0',
  apiVersions = [],
  ...release
}: Release): Promise<Output> {
  const request = JSON.stringify({ ...release, kubeVersion, apiVersions });
  const outcome = await runProgram({
    command: await buildRenderer(),
    args: [chartFolder, request],
    env: {},
    timeoutMs: renderTimeoutMs,
  });
  if (!outcome.ok) throw new Error(`The renderer of charts: ${outcome.problem}`);
  const output = JSON.parse(outcome.output) as Output;
  if (output.error !== '') throw new Error(output.error);
  return output;
}
