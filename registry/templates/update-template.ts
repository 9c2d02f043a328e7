import type { z } from 'zod';

import type { updateTemplateBody } from '#contracts/http/templates';
import type { Principal, Tier } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { checkMayWrite, templateNameOf } from './domain/own-template.ts';
import type { OwnTemplate, TemplateName } from './domain/own-template.ts';
import { invalidTemplate, readValidDocument } from './read-document.ts';
import { getOwnTemplate } from './visible-templates.ts';
import { getTemplateVersion } from './get-template-version.ts';
import { incrementVersion, lockTemplate } from './template.sql.ts';
import { saveVersion } from './save-template-version.ts';
import type { SavedTemplate } from './save-template-version.ts';

interface UpdateTemplateFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: Tier;
  readonly body: z.infer<typeof updateTemplateBody>;
}

/**
 * Saves the next version of a template. The published version stays the same, and services keep
 * their versions.
 */
export async function updateTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'compile' | 'readPrincipal'>,
  { principal, key, tier, body }: UpdateTemplateFields,
): Promise<SavedTemplate> {
  const caller = deps.readPrincipal(principal);
  const { own } = await getOwnTemplate(deps, caller, { key, tier });
  checkMayWrite(caller, tier);
  if (own.version !== body.version) throw changedMeanwhile(own);
  const { ownerId } = own;
  const validDocument = await readValidDocument(deps, {
    openapi: body.openapi,
    tier,
    ownerId,
    authorId: caller.userId,
  });
  if (validDocument.template.key !== key) throw keyChangedError(key, validDocument.template.key);
  return saveVersion(deps, caller, {
    ...validDocument,
    before: await getLatestVersion(deps, caller, own),
    sourceUrl: null,
    reserve: (tx) =>
      reserveNextVersion(tx, { ...templateNameOf(caller, tier, key), from: body.version }),
  });
}

export function getLatestVersion(
  deps: Pick<Deps, 'db' | 'catalog'>,
  { orgId }: Principal,
  { key, tier, ownerId, version }: OwnTemplate,
) {
  return getTemplateVersion(deps, { orgId, template: { key, tier, ownerId, version } });
}

export async function reserveNextVersion(
  tx: Transaction,
  name: TemplateName & { from: number },
): Promise<OwnTemplate> {
  const incrementedTemplate = await incrementVersion(tx, name);
  if (incrementedTemplate !== undefined) return incrementedTemplate;
  const currentTemplate = await lockTemplate(tx, name);
  if (currentTemplate === undefined)
    throw new AppError('not_found', `The template "${name.key}" is gone.`);
  throw changedMeanwhile(currentTemplate);
}

function changedMeanwhile({ version }: OwnTemplate): AppError {
  const message = `Version ${version} was saved in the meantime; look at it, and save yours on top of it.`;
  return new AppError('conflict', message, { details: { latest_version: version } });
}

function keyChangedError(key: string, givenKey: string): AppError {
  const message = `The document has the key "${givenKey}"; set x-service-key to "${key}", or create another template.`;
  const finding = { code: 'key_invalid', message, path: '/info', line: null };
  return invalidTemplate({ valid: false, errors: [finding], warnings: [] });
}
