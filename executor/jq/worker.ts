import { parentPort, workerData } from 'node:worker_threads';

import type { WorkerJob, WorkerReport } from '#workers';
import { createInterpreter } from './interpreter.ts';
import type { JqResult, WorkerSettings } from './protocol.ts';

// Emscripten would set `LANG` from `navigator.language`, and a filter could read the language of
// the process as `$ENV.LANG`.
Reflect.deleteProperty(globalThis, 'navigator');

const port = parentPort!;
const report = (message: WorkerReport<JqResult>) => port.postMessage(message);
const settings: WorkerSettings = workerData;
const interpreter = await createInterpreter(settings);

port.on('message', ({ steps, input }: WorkerJob<string>) => {
  for (const filter of steps) {
    const result = interpreter.run(filter, input);
    const mustRetire = interpreter.isSpent;
    // Results are sent one by one, so that the pool can tell which of several filters hangs.
    report({ kind: 'result', result, retire: mustRetire });
    if (mustRetire) return port.close();
  }
});

// Runs a filter before the thread reports that it is ready: the first run compiles and optimises
// the interpreter, and no caller's time limit should include that.
interpreter.run('[.. | numbers] | add | tojson | test("[0-9]")', '[1, {"a": 2}]');
report({ kind: 'ready' });
