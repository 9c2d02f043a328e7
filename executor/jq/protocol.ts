/** Between the pool and its worker threads; nobody else sees these. */

export type JqFailure = 'syntax' | 'runtime' | 'timeout' | 'too_large' | 'memory' | 'busy';

/** What became of one filter. A filter that fails is a foreseen outcome, so it is a value. */
export type JqResult =
  | { readonly ok: true; readonly outputs: string[] }
  | { readonly ok: false; readonly reason: JqFailure; readonly message: string };

export interface WorkerSettings {
  readonly module: WebAssembly.Module;
  /** Beyond this the interpreter gets no more memory. */
  readonly memoryBytesMax: number;
  /** An interpreter that grew beyond this is not used again: its memory never shrinks. */
  readonly memoryBytesKept: number;
  readonly outputBytesMax: number;
}

/** Filters to run one after the other over the same input. */
export interface WorkerJob {
  readonly filters: readonly string[];
  readonly input: string;
}

export type WorkerReport =
  | { readonly kind: 'ready' }
  /** In the order of the filters. After `retire` the worker does nothing more. */
  | { readonly kind: 'result'; readonly result: JqResult; readonly retire: boolean };
