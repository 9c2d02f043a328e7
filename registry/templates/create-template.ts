import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { createTemplateBody } from '#contracts/http/templates';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { checkMayWrite, templateNameOf } from './domain/own-template.ts';
import type { OwnTemplate, TemplateName } from './domain/own-template.ts';
import { readValidDocument } from './read-document.ts';
import { insertTemplate, lockTemplatesOf } from './template.sql.ts';
import { saveVersion } from './save-template-version.ts';
import type { SavedTemplate } from './save-template-version.ts';

/** The largest number of templates per owner: lists and searches by host read all of them. */
const templatesPerOwnerMax = 100;

/** Saves the first version of a template as a draft. */
export async function createTemplate(
  deps: Pick<Deps, 'db' | 'compile' | 'readPrincipal'>,
  { principal, body }: { principal: string; body: z.infer<typeof createTemplateBody> },
): Promise<SavedTemplate> {
  const caller = deps.readPrincipal(principal);
  const tier = body.tier ?? 'user';
  checkMayWrite(caller, tier);
  const { ownerId } = templateNameOf(caller, tier, '');
  const validDocument = await readValidDocument(deps, {
    openapi: body.openapi,
    tier,
    ownerId,
    authorId: caller.userId,
  });
  return saveVersion(deps, caller, {
    ...validDocument,
    before: null,
    sourceUrl: null,
    reserve: (tx) =>
      reserveFirstVersion(tx, templateNameOf(caller, tier, validDocument.template.key)),
  });
}

export async function reserveFirstVersion(
  tx: Transaction,
  name: TemplateName,
): Promise<OwnTemplate> {
  if ((await lockTemplatesOf(tx, name)) >= templatesPerOwnerMax) {
    const message = `There may be at most ${templatesPerOwnerMax} templates; delete one that is no longer used.`;
    throw new AppError('conflict', message);
  }
  const insertedTemplate = await insertTemplate(tx, { id: uuidv7(), ...name });
  if (insertedTemplate !== undefined) return insertedTemplate;
  throw new AppError(
    'conflict',
    `There is a template "${name.key}" already; save its next version with PUT, or change x-service-key.`,
  );
}
