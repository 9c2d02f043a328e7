import * as z from 'zod';

import type { Template, templateFilter } from '#contracts/http/templates';
import { pageOf, parseCursor } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { templateStatusOf } from './domain/own-template.ts';
import type { VisibleTemplate } from './domain/own-template.ts';
import { presentTemplate } from './domain/present-template.ts';
import { listVisibleTemplates, tierRankOf } from './visible-templates.ts';

type Filter = z.infer<typeof templateFilter>;

/** The cursor of a page: the key and tier of its last template. */
const positionSchema = z.tuple([z.string(), z.string()]);

interface ListTemplatesFields {
  readonly principal: string;
  readonly page: PageRequest;
  readonly filter: Filter;
}

/** Lists the templates that the caller may see and the pseudo-service `http`, in order of keys. */
export async function listTemplates(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, page, filter }: ListTemplatesFields,
): Promise<Page<Template>> {
  const caller = deps.readPrincipal(principal);
  const visibleTemplates = await listVisibleTemplates(deps, caller);
  const after = parseCursor(page.cursor, positionSchema);
  const matchingTemplates = visibleTemplates.filter(
    (each) => isAfter(each, after) && matchesFilter(each, filter),
  );
  const { items, next_cursor } = pageOf(matchingTemplates, page.limit, positionOf);
  return { items: items.map(presentTemplate), next_cursor };
}

function positionOf({ outline: { key, tier } }: VisibleTemplate): [key: string, tier: string] {
  return [key, tier];
}

function isAfter({ outline }: VisibleTemplate, after: readonly string[] | null): boolean {
  if (after === null) return true;
  const [key = '', tier = ''] = after;
  return outline.key > key || (outline.key === key && tierRankOf(outline.tier) > tierRankOf(tier));
}

function matchesFilter(
  { outline, own }: VisibleTemplate,
  { q, category, tier, status }: Filter,
): boolean {
  const words = (q ?? '').toLowerCase().split(/\s+/);
  const text = `${outline.key} ${outline.title} ${outline.description}`.toLowerCase();
  return (
    words.every((word) => text.includes(word)) &&
    (category === undefined || outline.category.toLowerCase() === category.toLowerCase()) &&
    (tier === undefined || outline.tier === tier) &&
    (status === undefined || templateStatusOf(own) === status)
  );
}
