import { AppError } from '#errors';
import { WorkerPool, processStarter } from '#workers';
import type { ImportRequest, Imported } from './imported.ts';
import type { ImportOutcome, ImportProgress, ImportStep } from './protocol.ts';

export interface ImportPoolOptions {
  /** Processes at most. Each is started when needed and stopped when idle. */
  readonly workers: number;
  /** Wall time of one import, in a process that is up and running. */
  readonly timeoutMs: number;
  /** JavaScript heap of a process; a document that needs more is refused. */
  readonly heapMib: number;
  /** Imports that wait for a process; more are refused as `unavailable`. */
  readonly queueMax?: number;
  readonly idleMs?: number;
  /** Further options of Node for the processes. */
  readonly execArgv?: readonly string[];
}

export interface ImportCall extends ImportRequest {
  /** Its turn has come. */
  readonly onStart?: () => void;
  /** Operations that were looked at, of how many. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Imports documents that nobody trusts, away from the event loop, with limits that hold. In
 * processes and not on threads: who runs out of memory inside of `JSON.parse` aborts the process.
 */
export interface ImportPool extends AsyncDisposable {
  /** Throws `unavailable` when too many wait, and what the importer throws when it has a fault. */
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
  const pool = new WorkerPool<ImportStep, ImportOutcome, ImportProgress>({
    ...options,
    queueMax,
    prepare: () => processStarter(script, { heapMib, ...(execArgv ? { execArgv } : {}) }),
    failed: (reason, cause) => ({ kind: 'ended', reason, cause }),
  });
  return {
    async importDocument({ onStart, onProgress, ...request }) {
      const [outcome] = await pool.run({
        steps: [{ request, wantsProgress: onProgress !== undefined }],
        input: '',
        timeoutMs: () => timeoutMs,
        onStart,
        onProgress: onProgress && (({ done, total }) => onProgress(done, total)),
      });
      return importedOf(outcome!);
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

function importedOf(outcome: ImportOutcome): Imported {
  if (outcome.kind === 'imported') return outcome.imported;
  if (outcome.kind === 'fault') throw new Error(outcome.problem);
  const { reason, cause } = outcome;
  if (reason === 'timeout') {
    return refused(
      'time_out',
      'Reading the document took too long. Cut it down to the operations you need.',
    );
  }
  if (reason === 'out_of_memory') {
    return refused(
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

function refused(code: 'time_out' | 'too_complex', message: string): Imported {
  return { ok: false, findings: [{ code, message, path: '', severity: 'error' }] };
}
