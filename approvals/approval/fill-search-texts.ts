import type { Sql } from '#database';
import type { ApprovalCard } from './domain/approval.ts';
import { searchTextOf, toSearchText } from './domain/search-text.ts';
import { listWithoutSearchText, storeSearchText } from './search-text.sql.ts';

/** A card may take half a megabyte, so few are read at once. */
const readAtOnceMax = 10;
/** The most characters of cards that one run parses, because calls wait for the thread meanwhile. */
const parsedCharactersMax = 4_000_000;

/**
 * Stores the text to search in for approvals that a replica of an earlier release raised, newest
 * first. Any number of replicas may do so at once; the next run goes on where this one ends.
 */
export async function fillSearchTexts(sql: Sql, limit: number): Promise<void> {
  // So that a scan does not pass over all that was filled just before.
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

/** A card that cannot be read is found by its service alone; without a text it would stop all others. */
function readSearchText(card: string, service: string): string {
  try {
    return searchTextOf(JSON.parse(card) as ApprovalCard, service);
  } catch {
    return toSearchText(service);
  }
}
