import { createHash } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { savedTemplate, TemplateReport } from '#contracts/http/templates';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { differenceBetween } from './domain/difference.ts';
import { outlineOf } from './domain/outline.ts';
import type { OwnTemplate } from './domain/own-template.ts';
import { presentTemplate } from './domain/present-template.ts';
import { templateEvent } from './domain/template-events.ts';
import { insertVersion, pruneVersions } from './template-version.sql.ts';

export type SavedTemplate = z.infer<typeof savedTemplate>;

export interface VersionToSave {
  readonly report: TemplateReport;
  readonly template: CompiledTemplate;
  readonly text: string;
  /** The version with which the new one is compared; null for a first version. */
  readonly before: CompiledTemplate | null;
  readonly sourceUrl: string | null;
  /**
   * Reserves a version number in the transaction that stores the version. Throws when the version
   * must not be saved.
   */
  readonly reserve: (tx: Transaction) => Promise<OwnTemplate>;
}

/**
 * How many versions of a template are kept. Older ones are deleted, except a published version and
 * versions that services use.
 */
const versionsKeptMax = 50;

/** Stores a version and the event of its change in one transaction. */
export async function saveVersion(
  { db }: Pick<Deps, 'db'>,
  caller: Principal,
  { report, template, text, before, sourceUrl, reserve }: VersionToSave,
): Promise<SavedTemplate> {
  const difference = before === null ? null : differenceBetween(before, template);
  const contentHash = createHash('sha256').update(JSON.stringify(template)).digest('hex');
  const ownTemplate = await db.transaction(async (tx) => {
    const reservedTemplate = await reserve(tx);
    await insertVersion(tx, {
      id: uuidv7(),
      name: reservedTemplate,
      version: reservedTemplate.version,
      contentHash,
      template,
      document: text,
      difference,
      sourceUrl,
      createdBy: caller.identityId,
    });
    await pruneVersions(tx, {
      ...reservedTemplate,
      upTo: reservedTemplate.version - versionsKeptMax,
    });
    await appendEvent(tx, templateEvent('template.saved', caller, reservedTemplate));
    return reservedTemplate;
  });
  const outline = { ...outlineOf(template), version: ownTemplate.version };
  return {
    ...presentTemplate({ outline, own: ownTemplate }),
    warnings: report.warnings,
    difference,
  };
}
