import { parentPort, workerData } from 'node:worker_threads';

import { loadJq } from 'jq-wasm';

import { createPlainHttpCheck, parseEgressAllow } from '#egress';
import type { WorkerJob, WorkerReport } from '#workers';
import { compileTemplate } from './domain/template.ts';
import { readTools } from './domain/tool-action.ts';
import type { CompileJob, CompileOutcome, ThreadData, ToolsJob } from './compiler.ts';

const { egressAllow } = workerData as ThreadData;
const isPlainHttpAllowed = createPlainHttpCheck(parseEgressAllow(egressAllow));
const jq = await loadJq();
const jqSyntaxErrorCode = 3;

/**
 * Returns the syntax error of a jq filter. The filter runs once with the input null, which is cheap
 * because most filters do nothing with null.
 */
function checkFilter(filter: string): string | undefined {
  const { stderr, exitCode } = jq.raw(null, filter);
  return exitCode === jqSyntaxErrorCode ? stderr.split('\n')[0] : undefined;
}

const reportResult = (message: WorkerReport<CompileOutcome>) =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);

function runJob(job: CompileJob | ToolsJob): CompileOutcome {
  if ('tools' in job) return { kind: 'tools', tools: readTools(job.tools) };
  const { text, tier, ownerId } = job;
  const options = { tier, ownerId, version: 1, isDraft: true, isPlainHttpAllowed, checkFilter };
  const { report: findings, template } = compileTemplate(text, options);
  return { kind: 'compiled', compiled: { report: findings, template } };
}

// An exception here ends the thread, and the pool reports it as an error of the job.
parentPort?.on('message', ({ steps }: WorkerJob<CompileJob | ToolsJob>) => {
  for (const job of steps) reportResult({ kind: 'result', result: runJob(job), retire: false });
});

reportResult({ kind: 'ready' });
