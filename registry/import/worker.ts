import type { WorkerJob, WorkerReport } from '#workers';
import { convertDocument } from './domain/convert-document.ts';
import type { ImportOutcome, ImportProgress, ImportJob } from './protocol.ts';

const reportToPool = (message: WorkerReport<ImportOutcome, ImportProgress>) =>
  process.send?.(message);

function runImportStep({ request, wantsProgress }: ImportJob): ImportOutcome {
  const onProgress = (doneCount: number, totalCount: number) =>
    reportToPool({ kind: 'progress', progress: { done: doneCount, total: totalCount } });
  try {
    const importResult = convertDocument(request, wantsProgress ? onProgress : undefined);
    return { kind: 'imported', imported: importResult };
  } catch (error) {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { kind: 'fault', problem: problem.slice(0, 4000) };
  }
}

process.on('message', ({ steps }: WorkerJob<ImportJob>) => {
  for (const step of steps)
    reportToPool({ kind: 'result', result: runImportStep(step), retire: false });
});
// The connection to the pool is closed because the parent process has ended.
process.on('disconnect', () => process.exit());

reportToPool({ kind: 'ready' });
