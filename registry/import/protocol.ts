import type { StepFailure } from '#workers';
import type { ImportRequest, Imported } from './imported.ts';

/** Between the pool and its processes. */
export interface ImportStep {
  readonly request: ImportRequest;
  readonly wantsProgress: boolean;
}

export interface ImportProgress {
  readonly done: number;
  readonly total: number;
}

export type ImportOutcome =
  | { readonly kind: 'imported'; readonly imported: Imported }
  /** A fault of the importer, not of the document. */
  | { readonly kind: 'fault'; readonly problem: string }
  | { readonly kind: 'ended'; readonly reason: StepFailure; readonly cause: Error | undefined };
