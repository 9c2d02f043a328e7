import type { Template } from '#contracts/http/services';
import { cursorOf, parseCursor } from '#database';
import type { Deps } from '../deps.ts';
import { presentTemplate } from '../domain/present-template.ts';

interface ListTemplatesFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
}

/** What can be connected, in order of the keys; the pseudo-service `http` among it. */
export async function listTemplates(
  { catalog, verifyPrincipal }: Pick<Deps, 'catalog' | 'verifyPrincipal'>,
  { principal, page }: ListTemplatesFields,
): Promise<{ items: Template[]; next_cursor: string | null }> {
  verifyPrincipal(principal);
  const [after = ''] = page.cursor === null ? [] : parseCursor(page.cursor, 1);
  const rest = catalog.list().filter((template) => template.key > after);
  const shown = rest.slice(0, page.limit);
  const last = rest.length > page.limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(presentTemplate),
    next_cursor: last === undefined ? null : cursorOf([last.key]),
  };
}
