import type { Template } from '#contracts/http/templates';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { checkMayWrite, templateNameOf } from './domain/own-template.ts';
import { presentTemplate } from './domain/present-template.ts';
import { templateEvent } from './domain/template-events.ts';
import { getOwnTemplate } from './visible-templates.ts';
import * as templates from './template.sql.ts';

interface SwitchTemplateFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: Tier;
  readonly isDisabled: boolean;
}

/** Disables or enables a template, which also disables or enables every service made from it. */
export async function switchTemplate(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, isDisabled }: SwitchTemplateFields,
): Promise<Template> {
  const caller = deps.readPrincipal(principal);
  const { outline } = await getOwnTemplate(deps, caller, { key, tier });
  checkMayWrite(caller, tier);
  const ownTemplate = await deps.db.transaction(async (tx) => {
    const switchedTemplate = await templates.switchTemplate(tx, {
      ...templateNameOf(caller, tier, key),
      isDisabled,
    });
    if (switchedTemplate === undefined)
      throw new AppError('not_found', `The template "${key}" is gone.`);
    const type = isDisabled ? 'template.disabled' : 'template.enabled';
    await appendEvent(tx, templateEvent(type, caller, switchedTemplate));
    return switchedTemplate;
  });
  return presentTemplate({ outline, own: ownTemplate });
}
