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
