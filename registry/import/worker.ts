import { parentPort } from 'node:worker_threads';

import { convertDocument } from './convert-document.ts';
import type { WorkerJob, WorkerReport } from './protocol.ts';

const port = parentPort!;
const report = (message: WorkerReport) => port.postMessage(message);

// What it throws ends the thread and reaches the pool as the thread's error.
port.on('message', ({ request, wantsProgress }: WorkerJob) => {
  const onProgress = (done: number, total: number) => report({ kind: 'progress', done, total });
  const imported = convertDocument(request, wantsProgress ? onProgress : undefined);
  report({ kind: 'result', imported });
});

report({ kind: 'ready' });
