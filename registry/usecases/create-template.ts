import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { createTemplateBody } from '#contracts/http/templates';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { checkMayWrite, nameOf } from '../domain/own-template.ts';
import type { OwnTemplate, TemplateName } from '../domain/own-template.ts';
import { readValidDocument } from '../lookups/compiled-document.ts';
import { insertTemplate, lockTemplatesOf } from '../repository/template.ts';
import { saveVersion } from './save-version.ts';
import type { SavedTemplate } from './save-version.ts';

/** What lists and host look-ups read is bounded by it. */
const templatesPerOwnerMax = 100;

/** Saves the first version of a template, as a draft. */
export async function createTemplate(
  deps: Pick<Deps, 'db' | 'compile' | 'readPrincipal'>,
  { principal, body }: { principal: string; body: z.infer<typeof createTemplateBody> },
): Promise<SavedTemplate> {
  const caller = deps.readPrincipal(principal);
  const tier = body.tier ?? 'user';
  checkMayWrite(caller, tier);
  const { ownerId } = nameOf(caller, tier, '');
  const read = await readValidDocument(deps, { openapi: body.openapi, tier, ownerId });
  return saveVersion(deps, caller, {
    ...read,
    before: null,
    sourceUrl: null,
    reserve: (tx) => reserveNew(tx, nameOf(caller, tier, read.template.key)),
  });
}

export async function reserveNew(tx: Transaction, name: TemplateName): Promise<OwnTemplate> {
  if ((await lockTemplatesOf(tx, name)) >= templatesPerOwnerMax) {
    const message = `There may be at most ${templatesPerOwnerMax} templates; delete one that is no longer used.`;
    throw new AppError('conflict', message);
  }
  const added = await insertTemplate(tx, { id: uuidv7(), ...name });
  if (added !== undefined) return added;
  throw new AppError(
    'conflict',
    `There is a template "${name.key}" already; save its next version with PUT, or change x-service-key.`,
  );
}
