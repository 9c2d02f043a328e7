import * as z from 'zod';

import type { Template, templateFilter } from '#contracts/http/templates';
import { pageOf, parseCursor } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { statusOf } from '../domain/own-template.ts';
import type { KnownTemplate } from '../domain/own-template.ts';
import { presentTemplate } from '../domain/present-template.ts';
import { listKnownTemplates, rankOf } from '../lookups/known-templates.ts';

type Filter = z.infer<typeof templateFilter>;

/** The key and tier of a template. */
const position = z.tuple([z.string(), z.string()]);

interface ListTemplatesFields {
  readonly principal: string;
  readonly page: PageRequest;
  readonly filter: Filter;
}

/** What the caller may see, in order of the keys; the pseudo-service `http` among it. */
export async function listTemplates(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, page, filter }: ListTemplatesFields,
): Promise<Page<Template>> {
  const caller = deps.readPrincipal(principal);
  const known = await listKnownTemplates(deps, caller);
  const after = parseCursor(page.cursor, position);
  const rest = known.filter((each) => isAfter(each, after) && isMeant(each, filter));
  const { items, next_cursor } = pageOf(rest, page.limit, positionOf);
  return { items: items.map(presentTemplate), next_cursor };
}

function positionOf({ outline: { key, tier } }: KnownTemplate): [key: string, tier: string] {
  return [key, tier];
}

function isAfter({ outline }: KnownTemplate, after: readonly string[] | null): boolean {
  if (after === null) return true;
  const [key = '', tier = ''] = after;
  return outline.key > key || (outline.key === key && rankOf(outline.tier) > rankOf(tier));
}

function isMeant({ outline, own }: KnownTemplate, { q, category, tier, status }: Filter): boolean {
  const words = (q ?? '').toLowerCase().split(/\s+/);
  const text = `${outline.key} ${outline.title} ${outline.description}`.toLowerCase();
  return (
    words.every((word) => text.includes(word)) &&
    (category === undefined || outline.category.toLowerCase() === category.toLowerCase()) &&
    (tier === undefined || outline.tier === tier) &&
    (status === undefined || statusOf(own) === status)
  );
}
