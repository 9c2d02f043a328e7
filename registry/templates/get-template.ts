import type { z } from 'zod';

import type { templateDetail } from '#contracts/http/templates';
import type { TemplateTier } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { outlineOf } from './domain/outline.ts';
import { maySeeVersion } from './domain/own-template.ts';
import { presentActions, presentTemplate, presentWays } from './domain/present-template.ts';
import { getVisibleTemplate, templateNotFound } from './visible-templates.ts';
import { getTemplateVersion } from './get-template-version.ts';

interface GetTemplateFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: TemplateTier | null;
  /** The version to return. Null means the published version, or else the latest. */
  readonly version: number | null;
}

/** Returns a template with its actions. */
export async function getTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, version }: GetTemplateFields,
): Promise<z.infer<typeof templateDetail>> {
  const caller = deps.readPrincipal(principal);
  const visibleTemplate = await getVisibleTemplate(deps, caller, { key, tier });
  const { outline, own } = visibleTemplate;
  const wantedVersion = version ?? outline.version;
  if (!maySeeVersion(caller, own, wantedVersion)) throw templateNotFound(key, []);
  const template = await getTemplateVersion(deps, {
    orgId: caller.orgId,
    template: {
      key: outline.key,
      tier: outline.tier,
      ownerId: outline.ownerId,
      version: wantedVersion,
    },
  });
  return {
    ...presentTemplate({ outline: outlineOf(template), own }),
    ...presentWays(template),
    actions: presentActions(template),
  };
}
