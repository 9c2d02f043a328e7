import { runProgram } from '../../services-src/embedded/run-program.ts';
import type { KubeObject } from './kube-object.ts';
import { buildRenderer } from './renderer-program.ts';

export interface Release {
  /** The folder with `Chart.yaml`. */
  readonly chartFolder: string;
  /** The values given with `--values`: they are merged over the chart's `values.yaml`. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly releaseName: string;
  readonly namespace: string;
  /** The release of Kubernetes; the default is 1.31.0. */
  readonly kubeVersion?: string;
  /** What the cluster has beyond Kubernetes' own APIs, for example `monitoring.coreos.com/v1`. */
  readonly apiVersions?: readonly string[];
}

const renderTimeoutMs = 60_000;

/**
 * The objects that `helm template` prints for a release, hooks included, in the order of the names
 * of the templates. Go's text/template, sprig and Helm's YAML library do it, so an unquoted `yes` is
 * a boolean and a number from the values prints as in Helm, 1048576 as `1.048576e+06`.
 *
 * The first call builds the renderer: see `buildRenderer`.
 *
 * @throws Error with the message of `fail` or `required`, or saying what Helm would refuse: a broken
 *   template, values that `values.schema.json` refuses, text that is no YAML or has a key twice.
 */
export async function renderChart(release: Release): Promise<KubeObject[]> {
  return (await render(release)).objects;
}

/** The text of `templates/NOTES.txt` for a release. Throws as `renderChart` does. */
export async function renderNotes(release: Release): Promise<string> {
  return (await render(release)).notes;
}

interface Output {
  readonly objects: KubeObject[];
  readonly notes: string;
  /** Empty if the chart was rendered. */
  readonly error: string;
}

async function render({
  chartFolder,
  kubeVersion = '1.31.0',
  apiVersions = [],
  ...asked
}: Release): Promise<Output> {
  const request = JSON.stringify({ ...asked, kubeVersion, apiVersions });
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
