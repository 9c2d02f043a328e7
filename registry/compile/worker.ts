import { parentPort, workerData } from 'node:worker_threads';

import { loadJq } from 'jq-wasm';

import { createPlainHttpCheck, parseEgressAllow } from '#egress';
import { compileTemplate } from '../domain/template.ts';
import { readTools } from '../domain/tool-action.ts';
import type { ReadTool } from '../domain/tool-action.ts';
import type { CompileJob, Compiled, ToolsJob } from './index.ts';
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
parentPort?.on('message', (job: CompileJob | ToolsJob) => {
  if ('tools' in job) {
    parentPort?.postMessage(readTools(job.tools) satisfies ReadTool[]);
    return;
  }
  const { text, tier, ownerId } = job;
  const options = { tier, ownerId, version: 1, isDraft: true, isPlainHttpAllowed, checkFilter };
  const { report, template } = compileTemplate(text, options);
  parentPort?.postMessage({ report, template } satisfies Compiled);
});

parentPort?.postMessage('ready');
