import type { Component } from './vocabulary.ts';

/**
 * Bodies that do not travel in messages: a bucket of the NATS object store (ADR-20 of NATS). The
 * executor writes an object for each file, the gateway reads its chunks, nobody else may do either.
 */
export const filesBucket = 'files';

/** For how long a file can be downloaded (decisions: Binary). */
export const fileHours = 1;

/** JetStream's name of the bucket. */
export const filesStream = `OBJ_${filesBucket}`;

/** Where the bytes of one object are, in order. */
export function chunksSubject(chunksId: string): string {
  return `$O.${filesBucket}.C.${chunksId}`;
}

/** What the object store needs of each component, and no more: no listing, no consumers, no deleting of single messages. */
export const filesPublications = {
  executor: [
    chunksSubject('*'),
    `$O.${filesBucket}.M.*`,
    // Whether an object has that name, and taking back what was stored of a broken one.
    `$JS.API.STREAM.MSG.GET.${filesStream}`,
    `$JS.API.STREAM.PURGE.${filesStream}`,
  ],
  gateway: [`$JS.API.DIRECT.GET.${filesStream}`],
} as const satisfies Partial<Record<Component, readonly string[]>>;
