import type { ImportRequest, Imported } from './imported.ts';

/** Between the pool and its processes; nobody else sees these. */
export interface WorkerJob {
  readonly request: ImportRequest;
  readonly wantsProgress: boolean;
}

export type WorkerReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'progress'; readonly done: number; readonly total: number }
  | { readonly kind: 'result'; readonly imported: Imported }
  /** A fault of the importer, not of the document. */
  | { readonly kind: 'failed'; readonly problem: string };
