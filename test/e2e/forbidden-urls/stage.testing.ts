import type { Caller, Reply } from '../../support/http.ts';
import type { Site } from './site.testing.ts';

/**
 * An entry point: a feature that takes a URL from outside and could make the product call the URL.
 */
export interface Entry {
  readonly name: string;
  /**
   * The short test tries one URL out of this many. The number is prime, so that the tried URLs
   * include every spelling.
   */
  readonly oneOf: number;
  /**
   * True if the full test tries every spelling of an address, but with only one scheme and port.
   */
  readonly isCostly?: true;
  /** How many attempts may run at a time. */
  readonly attemptsAtOnceMax?: number;
  /**
   * True if the product never calls URLs that it gets in this way, not even public ones. The test
   * then checks only that the product got them.
   */
  readonly isNeverCalled?: true;
  /**
   * Gives the URL to the feature and uses the feature. Resolves to true if the product accepted the
   * URL, unless the site counts this itself. Rejects on errors that do not concern the URL.
   */
  attempt(url: string): Promise<unknown>;
}

/**
 * Settings for entry points that need several requests to test one URL: the short test tries only
 * one URL in 311.
 */
export const costlyEntry = { oneOf: 311, isCostly: true } as const;

/** The callers, the site and the address that the entry points use. */
export interface Stage {
  readonly admin: Caller;
  readonly agent: Caller;
  /** A caller without a credential, such as a browser or an OAuth client before a sign-in. */
  readonly anybody: Caller;
  readonly site: Site;
  /** The product's address. */
  readonly url: string;
}

/**
 * Each entry point uses its own port of the public addresses. The executor pauses calls to an
 * upstream that has failed, and the previous entry point may have caused failures.
 */
export const publicPorts = Array.from({ length: 64 }, (_, at) => 20_000 + at);

/** Counts answers by their error code or status. */
export interface Tally {
  note(answer: string): void;
  take(): Record<string, number>;
}

export function createTally(): Tally {
  let counts = new Map<string, number>();
  return {
    note: (answer) => void counts.set(answer, (counts.get(answer) ?? 0) + 1),
    take() {
      const takenCounts = Object.fromEntries(counts);
      counts = new Map();
      return takenCounts;
    },
  };
}

/**
 * Thrown when the executor pauses calls to an upstream because the upstream has failed. This must
 * never happen for a refused address.
 */
export class OpenCircuit extends Error {}

/**
 * Statuses with which the gateway may refuse a URL. Any other error status means that the gateway
 * did not try the URL.
 */
const refusalStatuses: readonly number[] = [400, 403, 422, 424, 502];

/** A caller that counts refusals, and throws on errors that do not concern the URL. */
export function watchCaller(
  caller: Caller,
  tally: Tally,
  moreRefusalStatuses: readonly number[] = [],
): Caller {
  const watchReply = async (what: string, pendingReply: Promise<Reply>): Promise<Reply> => {
    const reply = await pendingReply;
    const { status, body } = reply;
    const isOpenCircuit = body?.error === 'upstream_unreachable' && 'retry_after' in body;
    if (status >= 400) tally.note(isOpenCircuit ? 'circuit open' : String(body?.error ?? status));
    const isRefused = refusalStatuses.includes(status) || moreRefusalStatuses.includes(status);
    if (status < 400 || (isRefused && !isOpenCircuit)) return reply;
    const ErrorClass = isOpenCircuit ? OpenCircuit : Error;
    throw new ErrorClass(`${what}: ${status} ${JSON.stringify(body).slice(0, 300)}`);
  };
  return {
    get: (path, headers) => watchReply(`GET ${path}`, caller.get(path, headers)),
    post: (path, body, headers) => watchReply(`POST ${path}`, caller.post(path, body, headers)),
    put: (path, body) => watchReply(`PUT ${path}`, caller.put(path, body)),
    patch: (path, body) => watchReply(`PATCH ${path}`, caller.patch(path, body)),
    delete: (path) => watchReply(`DELETE ${path}`, caller.delete(path)),
  };
}

/**
 * Gives names to attempts that run at the same time; each name belongs to one attempt at a time.
 * The names are few, because the number of resources is limited.
 */
export function createNamePool(prefix: string) {
  const freeNames = Array.from({ length: 16 }, (_, at) => `${prefix}${at}`);
  return async <T>(use: (name: string) => Promise<T>): Promise<T> => {
    const name = freeNames.pop();
    if (name === undefined) throw new Error(`all names ${prefix} are in use`);
    try {
      return await use(name);
    } finally {
      freeNames.push(name);
    }
  };
}
