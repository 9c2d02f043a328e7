import { convertDocument } from './convert-document.ts';
import type { Imported } from './imported.ts';
import type { WorkerJob, WorkerReport } from './protocol.ts';

const report = (message: WorkerReport) => process.send?.(message);

process.on('message', ({ request, wantsProgress }: WorkerJob) => {
  const onProgress = (done: number, total: number) => report({ kind: 'progress', done, total });
  let imported: Imported;
  try {
    imported = convertDocument(request, wantsProgress ? onProgress : undefined);
  } catch (error) {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    report({ kind: 'failed', problem: problem.slice(0, 4000) });
    return;
  }
  report({ kind: 'result', imported });
});
// Whoever started it is gone.
process.on('disconnect', () => process.exit());

report({ kind: 'ready' });
