import { createHash } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { savedTemplate, TemplateReport } from '#contracts/http/templates';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { differenceBetween } from '../domain/difference.ts';
import { outlineOf } from '../domain/outline.ts';
import type { OwnTemplate } from '../domain/own-template.ts';
import { presentTemplate } from '../domain/present-template.ts';
import { templateEvent } from '../domain/template-events.ts';
import { insertVersion, pruneVersions } from '../repository/template-version.ts';

export type SavedTemplate = z.infer<typeof savedTemplate>;

export interface NewVersion {
  readonly report: TemplateReport;
  readonly template: CompiledTemplate;
  readonly text: string;
  /** The version it is compared with; null for the first. */
  readonly before: CompiledTemplate | null;
  readonly sourceUrl: string | null;
  /** Takes the version number, in the transaction that stores the version, or throws. */
  readonly reserve: (tx: Transaction) => Promise<OwnTemplate>;
}

/** Older versions stay while they are published or in use. */
const versionsKept = 50;

/** Stores a version and announces it; all of it or nothing. */
export async function saveVersion(
  { db }: Pick<Deps, 'db'>,
  caller: Principal,
  { report, template, text, before, sourceUrl, reserve }: NewVersion,
): Promise<SavedTemplate> {
  const difference = before === null ? null : differenceBetween(before, template);
  const contentHash = createHash('sha256').update(JSON.stringify(template)).digest('hex');
  const own = await db.transaction(async (tx) => {
    const reserved = await reserve(tx);
    await insertVersion(tx, {
      id: uuidv7(),
      name: reserved,
      version: reserved.version,
      contentHash,
      template,
      document: text,
      difference,
      sourceUrl,
      createdBy: caller.identityId,
    });
    await pruneVersions(tx, { ...reserved, upTo: reserved.version - versionsKept });
    await appendEvent(tx, templateEvent('template.saved', caller, reserved));
    return reserved;
  });
  const outline = { ...outlineOf(template), version: own.version };
  return { ...presentTemplate({ outline, own }), warnings: report.warnings, difference };
}
