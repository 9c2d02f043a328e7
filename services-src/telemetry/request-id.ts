import { AsyncLocalStorage } from 'node:async_hooks';

const requestIds = new AsyncLocalStorage<string>();
/**
 * Ids are UUIDs. Other texts from another component are not accepted, because ids are written to
 * the log.
 */
const requestIdPattern = /^[0-9a-f-]{36}$/;

/** Runs `work` for a request of a client, whose id is then in every line of the log. */
export function runWithRequestId<T>(requestId: string | undefined, work: () => T): T {
  if (requestId === undefined || !requestIdPattern.test(requestId)) return work();
  return requestIds.run(requestId, work);
}

/** The id of the client's request that is being served; undefined for other work. */
export function currentRequestId(): string | undefined {
  return requestIds.getStore();
}
