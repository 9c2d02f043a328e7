import type { z } from 'zod';

import type { templateDetail } from '#contracts/http/services';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { nearestName } from '../domain/nearest.ts';
import { presentActions, presentTemplate } from '../domain/present-template.ts';

/** The present version of a template, with its actions. */
export async function getTemplate(
  { catalog, verifyPrincipal }: Pick<Deps, 'catalog' | 'verifyPrincipal'>,
  { principal, key }: { principal: string; key: string },
): Promise<z.infer<typeof templateDetail>> {
  verifyPrincipal(principal);
  const template = catalog.find(key);
  if (template !== undefined) {
    return { ...presentTemplate(template), actions: presentActions(template) };
  }
  const suggestion = nearestName(
    key,
    catalog.list().map((candidate) => candidate.key),
  );
  const hint = suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`;
  throw new AppError('not_found', `There is no template "${key}".${hint}`, {
    details: { did_you_mean: suggestion },
  });
}
