import type { z } from 'zod';

import type { templateVersion } from '#contracts/http/templates';
import type { TemplateTier } from '#contracts/vocabulary';
import { cursorOf, parseCursor } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { maySeeVersion } from '../domain/own-template.ts';
import { getKnownTemplate } from '../lookups/known-templates.ts';
import { listVersions } from '../repository/template-version.ts';

interface ListVersionsFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: TemplateTier | null;
  readonly page: { readonly limit: number; readonly cursor: string | null };
}

/** A row says what it changed, a thousand actions at most: more rows would be too much for one answer. */
const rowsMax = 20;

/** What became of a template, newest first. */
export async function listTemplateVersions(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, page }: ListVersionsFields,
): Promise<{ items: z.infer<typeof templateVersion>[]; next_cursor: string | null }> {
  const caller = deps.readPrincipal(principal);
  const { outline, own } = await getKnownTemplate(deps, caller, { key, tier });
  const limit = Math.min(page.limit, rowsMax);
  const rows = await listVersions(deps.db, {
    orgId: caller.orgId,
    template: { key, tier: outline.tier, ownerId: outline.ownerId },
    before: page.cursor === null ? null : parseVersion(page.cursor),
    limit: limit + 1,
  });
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  const publishedVersion = own === null ? outline.version : own.publishedVersion;
  return {
    items: shown
      .filter(({ version }) => maySeeVersion(caller, own, version))
      .map((row) => ({
        version: row.version,
        is_published: row.version === publishedVersion,
        actions_count: row.actionsCount,
        created_at: row.createdAt.toISOString(),
        created_by: row.createdBy,
        source_url: row.sourceUrl,
        difference: row.difference,
      })),
    next_cursor: last === undefined ? null : cursorOf([last.version]),
  };
}

function parseVersion(cursor: string): number {
  const version = Number(parseCursor(cursor, 1)[0]);
  if (Number.isInteger(version) && version > 0 && version < 2 ** 31) return version;
  const message = 'The cursor is not one we handed out; start again without a cursor.';
  throw new AppError('invalid_request', message);
}
