import { parentPort, workerData } from 'node:worker_threads';

import { loadJq } from 'jq-wasm';

import { createPlainHttpCheck, parseEgressAllow } from '#egress';
import { compileTemplate } from '../domain/template.ts';
import type { CompileJob, Compiled } from './index.ts';
import type { ThreadData } from './threads.ts';

const { egressAllow } = workerData as ThreadData;
const isPlainHttpAllowed = createPlainHttpCheck(parseEgressAllow(egressAllow));
const jq = await loadJq();
const jqSyntaxError = 3;

/** Null as input makes most filters do nothing; what is left are mistakes in their grammar. */
function checkFilter(filter: string): string | undefined {
  const { stderr, exitCode } = jq.raw(null, filter);
  return exitCode === jqSyntaxError ? stderr.split('\n')[0] : undefined;
}

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread, not a window */
// What it throws ends the thread and reaches whoever waits as the thread's error.
parentPort?.on('message', ({ text, tier, ownerId }: CompileJob) => {
  const options = { tier, ownerId, version: 1, isDraft: true, isPlainHttpAllowed, checkFilter };
  const { report, template } = compileTemplate(text, options);
  parentPort?.postMessage({ report, template } satisfies Compiled);
});

parentPort?.postMessage('ready');
