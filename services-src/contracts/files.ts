import type { Component } from './vocabulary.ts';

/**
 * The bucket of the NATS object store (NATS ADR-20) for response bodies that are too large for
 * messages. The executor writes an object for each file and the gateway reads its chunks; no other
 * component may do either.
 */
export const filesBucket = 'files';

/** For how long a file can be downloaded (docs/reference/calling.md#files). */
export const fileHours = 1;

/** JetStream's name of the bucket. */
export const filesStream = `OBJ_${filesBucket}`;

/** The subject under which the chunks of one object are stored, in order. */
export function chunksSubjectOf(chunksId: string): string {
  return `$O.${filesBucket}.C.${chunksId}`;
}

/**
 * The subjects for writing files. The executor publishes chunks. It removes an incomplete object by
 * a rollup message, which replaces the earlier messages on the subject, so it needs no right to
 * purge.
 */
export const filesPublications = {
  executor: [chunksSubjectOf('*')],
} as const satisfies Partial<Record<Component, readonly string[]>>;

/**
 * The requests to the store with which the gateway reads stored chunks. No component may list,
 * consume or delete messages.
 */
export const filesRequests = {
  gateway: [`$JS.API.DIRECT.GET.${filesStream}`],
} as const satisfies Partial<Record<Component, readonly string[]>>;
