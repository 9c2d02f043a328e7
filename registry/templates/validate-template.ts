import type { z } from 'zod';

import type { openapiDocument, TemplateReport } from '#contracts/http/templates';
import type { Deps } from '../deps.ts';
import { readDocument } from './read-document.ts';

/** Returns the report that saving a document would return, but does not save the document. */
export async function validateTemplate(
  deps: Pick<Deps, 'compile' | 'readPrincipal'>,
  { principal, openapi }: { principal: string; openapi: z.infer<typeof openapiDocument> },
): Promise<TemplateReport> {
  const { userId } = deps.readPrincipal(principal);
  const { report } = await readDocument(deps, {
    openapi,
    tier: 'user',
    ownerId: userId,
    authorId: userId,
  });
  return report;
}
