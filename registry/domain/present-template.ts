import type { z } from 'zod';

import type { actionDescription, Template } from '#contracts/http/services';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';

export type ActionDescription = z.infer<typeof actionDescription>;

export function presentTemplate(template: CompiledTemplate): Template {
  const { server } = template;
  return {
    key: template.key,
    tier: template.tier,
    version: template.version,
    title: template.title,
    description: template.description,
    category: template.category,
    runtime: template.runtime,
    hosts: template.hosts,
    variables: (server?.variables ?? []).map(({ name, description, default: value }) => ({
      name,
      description,
      default: value,
    })),
    base_url_allowed: server?.baseUrlAllowed ?? false,
    auth: template.auth.map((method) => ({
      scheme: method.scheme,
      type: method.type,
      default_secret_name: method.type === 'apiKey' ? method.defaultSecretName : null,
    })),
    actions_count: enabledActions(template).length,
  };
}

/** What callers may use. A disabled action is hidden (spec: Action, disabled). */
export function presentActions(template: CompiledTemplate): ActionDescription[] {
  return enabledActions(template).map((action) => ({
    action: action.key,
    summary: action.summary,
    method: action.method,
    path: action.path,
    risk: action.risk,
    params_schema: action.paramsSchema,
  }));
}

export function enabledActions(template: CompiledTemplate): CompiledAction[] {
  return Object.values(template.actions).filter((action) => !action.disabled);
}
