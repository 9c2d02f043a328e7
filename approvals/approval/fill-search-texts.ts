import type { Sql } from '#database';
import type { ApprovalCard } from './domain/approval.ts';
import { searchTextOf, toSearchText } from './domain/search-text.ts';
import { listWithoutSearchText, storeSearchText } from './search-text.sql.ts';

/** A card may take half a megabyte, so only a few are read at once. */
const readAtOnceMax = 10;
/**
 * The most characters of cards that one run parses. Calls cannot run on this thread in the
 * meantime.
 */
const parsedCharactersMax = 4_000_000;

/**
 * Stores the search text of approvals that a replica of an earlier release raised, newest first.
 * Any number of replicas may do so at once. The next run continues where this one ends.
 */
export async function fillSearchTexts(sql: Sql, limit: number): Promise<void> {
  // Keeps the next scan from passing over the rows that were just filled.
  let beforeId: string | null = null;
  let parsedCharacters = 0;
  for (let filled = 0; filled < limit; filled += readAtOnceMax) {
    const approvals = await listWithoutSearchText(sql, { beforeId, limit: readAtOnceMax });
    for (const { service, card, ...key } of approvals) {
      await storeSearchText(sql, { ...key, searchText: readSearchText(card, service) });
      parsedCharacters += card.length;
    }
    if (approvals.length < readAtOnceMax || parsedCharacters > parsedCharactersMax) return;
    beforeId = approvals.at(-1)?.approvalId ?? null;
  }
}

/**
 * An approval whose card cannot be read can be found by its service only. If it got no search text,
 * every run would stop at it.
 */
function readSearchText(card: string, service: string): string {
  try {
    return searchTextOf(JSON.parse(card) as ApprovalCard, service);
  } catch {
    return toSearchText(service);
  }
}
