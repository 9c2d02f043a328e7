import type { WorkerJob, WorkerReport } from '#workers';
import { convertDocument } from './convert-document.ts';
import type { ImportOutcome, ImportProgress, ImportStep } from './protocol.ts';

const report = (message: WorkerReport<ImportOutcome, ImportProgress>) => process.send?.(message);

function convert({ request, wantsProgress }: ImportStep): ImportOutcome {
  const onProgress = (done: number, total: number) =>
    report({ kind: 'progress', progress: { done, total } });
  try {
    const imported = convertDocument(request, wantsProgress ? onProgress : undefined);
    return { kind: 'imported', imported };
  } catch (error) {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { kind: 'fault', problem: problem.slice(0, 4000) };
  }
}

process.on('message', ({ steps }: WorkerJob<ImportStep>) => {
  for (const step of steps) report({ kind: 'result', result: convert(step), retire: false });
});
// The process that started it has ended.
process.on('disconnect', () => process.exit());

report({ kind: 'ready' });
