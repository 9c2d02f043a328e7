import type { z } from 'zod';

import type { openapiDocument, TemplateReport } from '#contracts/http/templates';
import type { Deps } from '../deps.ts';
import { readDocument } from '../lookups/compiled-document.ts';

/** What saving a document would say; nothing is saved. */
export async function validateTemplate(
  deps: Pick<Deps, 'compile' | 'readPrincipal'>,
  { principal, openapi }: { principal: string; openapi: z.infer<typeof openapiDocument> },
): Promise<TemplateReport> {
  const { userId } = deps.readPrincipal(principal);
  const { report } = await readDocument(deps, { openapi, tier: 'user', ownerId: userId });
  return report;
}
