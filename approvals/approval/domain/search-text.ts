import { shownName } from '#templates';
import type { ApprovalCard } from './approval.ts';

const searchTextCharactersMax = 4_000;

/** The text that a search for words looks in (docs/reference/approvals.md#lists). */
export function searchTextOf(
  { description, action, requester, serviceTitle }: SearchedCard,
  service: string,
): string {
  const title = serviceTitle === undefined ? '' : shownName(serviceTitle.title);
  const parts = [service, title, action, ...requester.path, description];
  return toSearchText(parts.join('\n').slice(0, searchTextCharactersMax));
}

type SearchedCard = Pick<ApprovalCard, 'description' | 'action' | 'requester' | 'serviceTitle'>;

/**
 * Converts a text to the form in which texts are compared, without characters that Postgres cannot
 * store.
 */
export function toSearchText(text: string): string {
  return text.toLowerCase().replaceAll('\0', ' ').toWellFormed();
}
