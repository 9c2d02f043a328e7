import type { Caller, Reply } from '../../support/http.ts';
import type { Site } from './site.testing.ts';

/** A way in which a URL of somebody's choice can be brought to be called. */
export interface Entry {
  readonly name: string;
  /** Of how many URLs one is tried when not all are; prime, so that it meets all spellings in turn. */
  readonly oneOf: number;
  /** When all are tried, every spelling is, but not with every scheme and port. */
  readonly isCostly?: true;
  /** How many attempts may be made at a time. */
  readonly atOnce?: number;
  /** What is named there is called by nobody, wherever it leads: it only has to be told. */
  readonly isNeverCalled?: true;
  /**
   * Does all that it takes for the product to call the URL, if it ever does. True: it was taken
   * in (where it is not the site that tells of it). Throws what has nothing to do with the URL.
   */
  attempt(url: string): Promise<unknown>;
}

/** Of an entry that takes several requests. */
export const costly = { oneOf: 113, isCostly: true } as const;

/** Who attempts it, and with what. */
export interface Stage {
  readonly admin: Caller;
  readonly agent: Caller;
  /** Without any credential, as a browser or an OAuth client. */
  readonly anybody: Caller;
  readonly site: Site;
  /** Of the product. */
  readonly url: string;
}

/**
 * Ports on which public addresses are listened to, one for each entry: an upstream that did not
 * answer the entry before would be left alone for a while.
 */
export const publicPorts = Array.from({ length: 64 }, (_, at) => 20_000 + at);

/** How often each answer was given, by its error or status. */
export interface Tally {
  note(answer: string): void;
  take(): Record<string, number>;
}

export function createTally(): Tally {
  let counts = new Map<string, number>();
  return {
    note: (answer) => void counts.set(answer, (counts.get(answer) ?? 0) + 1),
    take() {
      const taken = Object.fromEntries(counts);
      counts = new Map();
      return taken;
    },
  };
}

/** An upstream is left alone that did not answer before: of an address that is refused, a mistake. */
export class OpenCircuit extends Error {}

/** What a URL can be refused with. Anything else kept it from being tried at all. */
const refusals: readonly number[] = [400, 403, 422, 424, 502];

/** A caller that counts what it is answered, and throws answers that say nothing about the URL. */
export function watched(caller: Caller, tally: Tally, alsoRefused: readonly number[] = []): Caller {
  const watch = async (what: string, replying: Promise<Reply>): Promise<Reply> => {
    const reply = await replying;
    const { status, body } = reply;
    const isOpenCircuit = body?.error === 'upstream_unreachable' && 'retry_after' in body;
    if (status >= 400) tally.note(isOpenCircuit ? 'circuit open' : String(body?.error ?? status));
    const isRefused = refusals.includes(status) || alsoRefused.includes(status);
    if (status < 400 || (isRefused && !isOpenCircuit)) return reply;
    const Thrown = isOpenCircuit ? OpenCircuit : Error;
    throw new Thrown(`${what}: ${status} ${JSON.stringify(body).slice(0, 300)}`);
  };
  return {
    get: (path, headers) => watch(`GET ${path}`, caller.get(path, headers)),
    post: (path, body, headers) => watch(`POST ${path}`, caller.post(path, body, headers)),
    put: (path, body) => watch(`PUT ${path}`, caller.put(path, body)),
    patch: (path, body) => watch(`PATCH ${path}`, caller.patch(path, body)),
    delete: (path) => watch(`DELETE ${path}`, caller.delete(path)),
  };
}

/** Lends names to attempts, for what there may be few of: each is used by one at a time. */
export function createNames(prefix: string) {
  const free = Array.from({ length: 16 }, (_, at) => `${prefix}${at}`);
  return async <T>(use: (name: string) => Promise<T>): Promise<T> => {
    const name = free.pop();
    if (name === undefined) throw new Error(`all names ${prefix} are in use`);
    try {
      return await use(name);
    } finally {
      free.push(name);
    }
  };
}
