import { LRUCache } from 'lru-cache';

import { AppError } from '#errors';
import type { Deps } from '../deps.ts';

/** Filters that compiled before; agents repeat theirs. */
const known = new LRUCache<string, true>({ max: 1_000 });

/** Refuses a filter that does not compile while nothing has been sent; one that fails later costs only its own field. */
export async function checkFilter(
  { jq }: Pick<Deps, 'jq'>,
  filter: string | null,
  { userId }: { userId: string },
): Promise<void> {
  if (filter === null || known.has(filter)) return;
  const checked = await jq.checkSyntax(filter, userId);
  if (checked.ok) {
    known.set(filter, true);
    return;
  }
  if (checked.reason !== 'syntax') return;
  throw new AppError(
    'filter_invalid',
    `The filter is not valid jq: ${checked.message}`.slice(0, 500),
  );
}
