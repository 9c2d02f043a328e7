import { parentPort, workerData } from 'node:worker_threads';

import { loadJq } from 'jq-wasm';

import { createPlainHttpCheck, parseEgressAllow } from '#egress';
import type { WorkerJob, WorkerReport } from '#workers';
import { compileTemplate } from '../domain/template.ts';
import { readTools } from '../domain/tool-action.ts';
import type { CompileJob, CompileOutcome, ThreadData, ToolsJob } from './index.ts';

const { egressAllow } = workerData as ThreadData;
const isPlainHttpAllowed = createPlainHttpCheck(parseEgressAllow(egressAllow));
const jq = await loadJq();
const jqSyntaxError = 3;

/** Null as input makes most filters do nothing; what is left are mistakes in their grammar. */
function checkFilter(filter: string): string | undefined {
  const { stderr, exitCode } = jq.raw(null, filter);
  return exitCode === jqSyntaxError ? stderr.split('\n')[0] : undefined;
}

const report = (message: WorkerReport<CompileOutcome>) =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);

function answer(job: CompileJob | ToolsJob): CompileOutcome {
  if ('tools' in job) return { kind: 'tools', tools: readTools(job.tools) };
  const { text, tier, ownerId } = job;
  const options = { tier, ownerId, version: 1, isDraft: true, isPlainHttpAllowed, checkFilter };
  const { report: findings, template } = compileTemplate(text, options);
  return { kind: 'compiled', compiled: { report: findings, template } };
}

// What it throws ends the thread and reaches the caller as the thread's error.
parentPort?.on('message', ({ steps }: WorkerJob<CompileJob | ToolsJob>) => {
  for (const job of steps) report({ kind: 'result', result: answer(job), retire: false });
});

report({ kind: 'ready' });
