import type { z } from 'zod';

import type { Template, templateFilter } from '#contracts/http/templates';
import { cursorOf, parseCursor } from '#database';
import type { Deps } from '../deps.ts';
import { statusOf } from '../domain/own-template.ts';
import type { KnownTemplate } from '../domain/own-template.ts';
import { presentTemplate } from '../domain/present-template.ts';
import { listKnownTemplates, rankOf } from '../lookups/known-templates.ts';

type Filter = z.infer<typeof templateFilter>;

interface ListTemplatesFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
  readonly filter: Filter;
}

/** What the caller may see, in order of the keys; the pseudo-service `http` among it. */
export async function listTemplates(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, page, filter }: ListTemplatesFields,
): Promise<{ items: Template[]; next_cursor: string | null }> {
  const caller = deps.readPrincipal(principal);
  const known = await listKnownTemplates(deps, caller);
  const after = page.cursor === null ? null : parseCursor(page.cursor, 2);
  const rest = known.filter((each) => isAfter(each, after) && isMeant(each, filter));
  const shown = rest.slice(0, page.limit);
  const last = rest.length > page.limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(presentTemplate),
    next_cursor: last === undefined ? null : cursorOf(positionOf(last)),
  };
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
