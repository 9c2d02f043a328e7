import { AppError } from '#errors';
import { WorkerPool, processStarter } from '#workers';
import type { ImportRequest, Imported } from './domain/imported.ts';
import type { ImportOutcome, ImportProgress, ImportJob } from './protocol.ts';

export interface ImportPoolOptions {
  /**
   * The largest number of processes. A process starts when it is needed and ends when it is idle.
   */
  readonly workers: number;
  /** The time limit of one import; starting the process does not count. */
  readonly timeoutMs: number;
  /** The size of the JavaScript heap of a process. A document that needs more is refused. */
  readonly heapMib: number;
  /** How many imports may wait for a process. A further import is refused with `unavailable`. */
  readonly queueMax?: number;
  readonly idleMs?: number;
  /** Additional Node options for the processes. */
  readonly execArgv?: readonly string[];
}

export interface ImportCall extends ImportRequest {
  /** The user for whom the document is imported. Users take turns, and none gets all processes. */
  readonly owner?: string;
  /** Called when a process begins the import. */
  readonly onStart?: () => void;
  /** Called with the number of converted operations and the total. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Imports untrusted documents in separate processes, with limits on time and memory. Threads would
 * not suffice: running out of memory inside `JSON.parse` ends the whole process.
 */
export interface ImportPool extends AsyncDisposable {
  /**
   * Throws `unavailable` when the queue is full, and an error when the importer itself has a
   * defect.
   */
  importDocument(call: ImportCall): Promise<Imported>;
}

export function createImportPool({
  heapMib,
  execArgv,
  timeoutMs,
  queueMax = 16,
  ...options
}: ImportPoolOptions): ImportPool {
  const script = new URL('worker.ts', import.meta.url);
  const pool = new WorkerPool<ImportJob, ImportOutcome, ImportProgress>({
    ...options,
    queueMax,
    prepare: () => processStarter(script, { heapMib, ...(execArgv ? { execArgv } : {}) }),
    createFailedResult: (reason, cause) => ({ kind: 'ended', reason, cause }),
  });
  return {
    async importDocument({ owner, onStart, onProgress, ...request }) {
      const [outcome] = await pool.run({
        steps: [{ request, wantsProgress: onProgress !== undefined }],
        input: '',
        owner,
        timeoutMs: () => timeoutMs,
        onStart,
        onProgress: onProgress && (({ done, total }) => onProgress(done, total)),
      });
      return toImported(outcome!);
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

function toImported(outcome: ImportOutcome): Imported {
  if (outcome.kind === 'imported') return outcome.imported;
  if (outcome.kind === 'fault') throw new Error(outcome.problem);
  const { reason, cause } = outcome;
  if (reason === 'timeout') {
    return createRefusal(
      'time_out',
      'Reading the document took too long. Cut it down to the operations you need.',
    );
  }
  if (reason === 'out_of_memory') {
    return createRefusal(
      'too_complex',
      'Reading the document took too much memory. Cut it down to the operations you need.',
    );
  }
  if (reason === 'crashed' || reason === 'not_started') {
    throw new Error('The importer ended by itself.', { cause });
  }
  if (reason === 'closed') throw new AppError('unavailable', 'The registry is stopping.');
  throw new AppError('unavailable', 'Too many documents are being imported. Try again soon.');
}

function createRefusal(code: 'time_out' | 'too_complex', message: string): Imported {
  return { ok: false, findings: [{ code, message, path: '', severity: 'error' }] };
}
