import type { z } from 'zod';

import type { updateTemplateBody } from '#contracts/http/templates';
import type { Principal, Tier } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { checkMayWrite, nameOf } from '../domain/own-template.ts';
import type { OwnTemplate, TemplateName } from '../domain/own-template.ts';
import { invalidTemplate, readValidDocument } from '../lookups/compiled-document.ts';
import { getOwnTemplate } from '../lookups/known-templates.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import { countUpVersion, lockTemplate } from '../repository/template.ts';
import { saveVersion } from './save-version.ts';
import type { SavedTemplate } from './save-version.ts';

interface UpdateTemplateFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: Tier;
  readonly body: z.infer<typeof updateTemplateBody>;
}

/** Saves the next version of a template. What is published, and what services use, stays. */
export async function updateTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'compile' | 'readPrincipal'>,
  { principal, key, tier, body }: UpdateTemplateFields,
): Promise<SavedTemplate> {
  const caller = deps.readPrincipal(principal);
  const { own } = await getOwnTemplate(deps, caller, { key, tier });
  checkMayWrite(caller, tier);
  if (own.version !== body.version) throw savedSince(own);
  const { ownerId } = own;
  const read = await readValidDocument(deps, { openapi: body.openapi, tier, ownerId });
  if (read.template.key !== key) throw otherKey(key, read.template.key);
  return saveVersion(deps, caller, {
    ...read,
    before: await getLatest(deps, caller, own),
    sourceUrl: null,
    reserve: (tx) => reserveNext(tx, { ...nameOf(caller, tier, key), from: body.version }),
  });
}

export function getLatest(
  deps: Pick<Deps, 'db' | 'catalog'>,
  { orgId }: Principal,
  { key, tier, ownerId, version }: OwnTemplate,
) {
  return getTemplateVersion(deps, { orgId, template: { key, tier, ownerId, version } });
}

export async function reserveNext(
  tx: Transaction,
  name: TemplateName & { from: number },
): Promise<OwnTemplate> {
  const counted = await countUpVersion(tx, name);
  if (counted !== undefined) return counted;
  const present = await lockTemplate(tx, name);
  if (present === undefined) throw new AppError('not_found', `The template "${name.key}" is gone.`);
  throw savedSince(present);
}

function savedSince({ version }: OwnTemplate): AppError {
  const message = `Version ${version} was saved in the meantime; look at it, and save yours on top of it.`;
  return new AppError('conflict', message, { details: { latest_version: version } });
}

function otherKey(key: string, given: string): AppError {
  const message = `The document has the key "${given}"; set x-service-key to "${key}", or create another template.`;
  const finding = { code: 'key_invalid', message, path: '/info', line: null };
  return invalidTemplate({ valid: false, errors: [finding], warnings: [] });
}
