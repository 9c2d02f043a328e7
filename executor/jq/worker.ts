import { parentPort, workerData } from 'node:worker_threads';

import type { WorkerJob, WorkerReport } from '#workers';
import { createInterpreter } from './interpreter.ts';
import type { JqResult, WorkerSettings } from './protocol.ts';

// Its language would otherwise become the interpreter's $ENV.LANG.
Reflect.deleteProperty(globalThis, 'navigator');

const port = parentPort!;
const report = (message: WorkerReport<JqResult>) => port.postMessage(message);
const settings: WorkerSettings = workerData;
const interpreter = await createInterpreter(settings);

port.on('message', ({ steps, input }: WorkerJob<string>) => {
  for (const filter of steps) {
    const result = interpreter.run(filter, input);
    const retire = interpreter.isSpent;
    // Sent one by one, so that the pool can tell which of several filters hangs.
    report({ kind: 'result', result, retire });
    if (retire) return port.close();
  }
});

// The first run compiles and optimises; no caller's deadline should pay for that.
interpreter.run('[.. | numbers] | add | tojson | test("[0-9]")', '[1, {"a": 2}]');
report({ kind: 'ready' });
