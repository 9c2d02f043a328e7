import { LRUCache } from 'lru-cache';

import { AppError } from '#errors';
import type { Deps } from '../deps.ts';

/** Filters that have compiled, cached because agents repeat their filters. */
const checkedFilters = new LRUCache<string, true>({ max: 1_000 });

/**
 * Refuses a filter that does not compile, before anything is sent. A filter that compiles may still
 * fail on the answer; then only that filter's field is missing.
 */
export async function checkFilter(
  { jq }: Pick<Deps, 'jq'>,
  filter: string | null,
  { userId, identityId }: { userId: string; identityId: string },
): Promise<void> {
  if (filter === null || checkedFilters.has(filter)) return;
  const syntaxCheck = await jq.checkSyntax(filter, { owner: userId, identity: identityId });
  if (syntaxCheck.ok) {
    checkedFilters.set(filter, true);
    return;
  }
  if (syntaxCheck.reason !== 'syntax') return;
  throw new AppError(
    'filter_invalid',
    `The filter is not valid jq: ${syntaxCheck.message}`.slice(0, 500),
  );
}
