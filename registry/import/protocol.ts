import type { StepFailure } from '#workers';
import type { ImportRequest, Imported } from './domain/imported.ts';

/** The request that the pool sends to an import process. */
export interface ImportJob {
  readonly request: ImportRequest;
  readonly wantsProgress: boolean;
}

export interface ImportProgress {
  readonly done: number;
  readonly total: number;
}

export type ImportOutcome =
  | { readonly kind: 'imported'; readonly imported: Imported }
  /** The importer has a defect; the document is not the cause. */
  | { readonly kind: 'fault'; readonly problem: string }
  | { readonly kind: 'ended'; readonly reason: StepFailure; readonly cause: Error | undefined };
