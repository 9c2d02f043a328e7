import type { z } from 'zod';

import type { templateDetail } from '#contracts/http/templates';
import type { TemplateTier } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { outlineOf } from '../domain/outline.ts';
import { maySeeVersion } from '../domain/own-template.ts';
import { presentActions, presentTemplate } from '../domain/present-template.ts';
import { getKnownTemplate, noTemplate } from '../lookups/known-templates.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';

interface GetTemplateFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: TemplateTier | null;
  /** Null: the published one, or the latest while there is none. */
  readonly version: number | null;
}

/** A template with its actions. */
export async function getTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, version }: GetTemplateFields,
): Promise<z.infer<typeof templateDetail>> {
  const caller = deps.readPrincipal(principal);
  const known = await getKnownTemplate(deps, caller, { key, tier });
  const { outline, own } = known;
  const wanted = version ?? outline.version;
  if (!maySeeVersion(caller, own, wanted)) throw noTemplate(key, []);
  const template = await getTemplateVersion(deps, {
    orgId: caller.orgId,
    template: { key, tier: outline.tier, ownerId: outline.ownerId, version: wanted },
  });
  return {
    ...presentTemplate({ outline: outlineOf(template), own }),
    actions: presentActions(template),
  };
}
