import type { Template } from '#contracts/http/templates';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { checkMayWrite, nameOf } from '../domain/own-template.ts';
import { presentTemplate } from '../domain/present-template.ts';
import { templateEvent } from '../domain/template-events.ts';
import { getOwnTemplate } from '../lookups/known-templates.ts';
import * as templates from '../repository/template.ts';

interface SwitchTemplateFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: Tier;
  readonly isDisabled: boolean;
}

/** Takes a template, and every service made from it, out of use or into use again. */
export async function switchTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, isDisabled }: SwitchTemplateFields,
): Promise<Template> {
  const caller = deps.readPrincipal(principal);
  const { outline } = await getOwnTemplate(deps, caller, { key, tier });
  checkMayWrite(caller, tier);
  const own = await deps.db.transaction(async (tx) => {
    const switched = await templates.switchTemplate(tx, {
      ...nameOf(caller, tier, key),
      isDisabled,
    });
    if (switched === undefined) throw new AppError('not_found', `The template "${key}" is gone.`);
    const type = isDisabled ? 'template.disabled' : 'template.enabled';
    await appendEvent(tx, templateEvent(type, caller, switched));
    return switched;
  });
  return presentTemplate({ outline, own });
}
