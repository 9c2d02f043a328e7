import type { Component } from './vocabulary.ts';

/**
 * Bodies that do not travel in messages: a bucket of the NATS object store (ADR-20 of NATS). The
 * executor writes an object for each file, the gateway reads its chunks, nobody else may do either.
 */
export const filesBucket = 'files';

/** For how long a file can be downloaded (docs/reference/calling.md#files). */
export const fileHours = 1;

/** JetStream's name of the bucket. */
export const filesStream = `OBJ_${filesBucket}`;

/** Where the bytes of one object are, in order. */
export function chunksSubject(chunksId: string): string {
  return `$O.${filesBucket}.C.${chunksId}`;
}

/**
 * What the executor publishes to the store: chunks. It takes a broken object back by a message that
 * replaces those before it on the same subject, so it needs no purge.
 */
export const filesPublications = {
  executor: [chunksSubject('*')],
} as const satisfies Partial<Record<Component, readonly string[]>>;

/** What is asked of the store: the gateway reads stored chunks. No listing, no consumers, no deleting. */
export const filesRequests = {
  gateway: [`$JS.API.DIRECT.GET.${filesStream}`],
} as const satisfies Partial<Record<Component, readonly string[]>>;
