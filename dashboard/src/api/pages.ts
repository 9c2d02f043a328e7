import { request } from './client.ts';

/** One page of a list that the API returns. */
export interface Page<Item> {
  readonly items: Item[];
  readonly next_cursor: string | null;
}

/**
 * The most items that are read of one list. No such list is longer: an owner has at most 100
 * services.
 */
const itemsMax = 500;

/** Reads a whole list of the API, page by page. */
export async function listAll<Item>(
  path: `/v1/${string}`,
  signal: AbortSignal,
  filter: Readonly<Record<string, string>> = {},
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const query: string = new URLSearchParams({
      ...filter,
      limit: '100',
      ...(cursor === null ? {} : { cursor }),
    }).toString();
    // oxlint-disable-next-line no-await-in-loop -- each page contains the cursor of the next
    const page: Page<Item> = await request<Page<Item>>(`${path}?${query}`, { signal });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null && items.length < itemsMax);
  return items;
}
