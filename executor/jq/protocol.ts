export type JqFailure = 'syntax' | 'runtime' | 'timeout' | 'too_large' | 'memory' | 'busy';

/** The result of one filter. A filter that fails is a foreseen outcome, so it is a value. */
export type JqResult =
  | { readonly ok: true; readonly outputs: string[] }
  | { readonly ok: false; readonly reason: JqFailure; readonly message: string };

export interface WorkerSettings {
  readonly module: WebAssembly.Module;
  /** The limit of the interpreter's memory. */
  readonly memoryBytesMax: number;
  /**
   * An interpreter whose memory has grown beyond this size is replaced, because its memory never
   * shrinks.
   */
  readonly memoryBytesKept: number;
  readonly outputBytesMax: number;
}
