import { readFile } from 'node:fs/promises';

import { defineConfig, loadConfig } from '#config';
import type { Environment } from '#config';
import { keepPort } from '../embedded/index.ts';
import { startSample } from './server.ts';

const documentUrl = new URL('sample.yaml', import.meta.url);
/** The placeholder in the template's file for the address of the running notice board. */
const placeholderUrl = 'http://127.0.0.1:1';
const loopbackHosts = ['127.0.0.1', '::1', 'localhost'];
const sampleConfig = defineConfig('start', ['HOST', 'SAMPLE_SERVICE', 'EGRESS_ALLOW']);

/** The template of the notice board as YAML, with the address at which the board runs. */
export async function readSampleTemplate(url: string): Promise<string> {
  return (await readFile(documentUrl, 'utf8')).replace(placeholderUrl, url);
}

/**
 * Starts the notice board beside the components of one process, with the settings by which they
 * find it and may call it (docs/operating.md#the-sample-service). Null when the gateway can be
 * reached from other machines, or when the operator wants none.
 */
export async function startSampleBeside(
  environment: Environment,
  dataDir: string,
): Promise<(AsyncDisposable & { readonly settings: Readonly<Record<string, string>> }) | null> {
  const { HOST, SAMPLE_SERVICE, EGRESS_ALLOW } = loadConfig(sampleConfig, environment);
  if (SAMPLE_SERVICE === 'off' || !loopbackHosts.includes(HOST)) return null;
  const sample = await startSample({ port: await keepPort(dataDir, 'sample-port') });
  const { host } = new URL(sample.url);
  return {
    settings: {
      SAMPLE_URL: sample.url,
      EGRESS_ALLOW: [EGRESS_ALLOW, host].filter((entry) => entry !== '').join(','),
    },
    [Symbol.asyncDispose]: () => sample[Symbol.asyncDispose](),
  };
}
