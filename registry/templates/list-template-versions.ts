import type { z } from 'zod';

import type { templateVersion } from '#contracts/http/templates';
import type { TemplateTier } from '#contracts/vocabulary';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { maySeeVersion } from './domain/own-template.ts';
import { getVisibleTemplate } from './visible-templates.ts';
import { listVersions } from './template-version.sql.ts';

interface ListVersionsFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: TemplateTier | null;
  readonly page: PageRequest;
}

/**
 * The largest number of versions per answer: one version can list up to a thousand changed actions.
 */
const versionsPerPageMax = 20;

/** Lists the versions of a template with their changes, newest first. */
export async function listTemplateVersions(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, page }: ListVersionsFields,
): Promise<Page<z.infer<typeof templateVersion>>> {
  const caller = deps.readPrincipal(principal);
  const { outline, own } = await getVisibleTemplate(deps, caller, { key, tier });
  const limit = Math.min(page.limit, versionsPerPageMax);
  const rows = await listVersions(deps.db, {
    orgId: caller.orgId,
    template: { key, tier: outline.tier, ownerId: outline.ownerId },
    before: parseSingleCursor(page.cursor, positions.version),
    limit: limit + 1,
  });
  const { items: shownVersions, next_cursor } = pageOf(rows, limit, ({ version }) => [version]);
  const publishedVersion = own === null ? outline.version : own.publishedVersion;
  return {
    items: shownVersions
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
    next_cursor,
  };
}
