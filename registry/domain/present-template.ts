import type { z } from 'zod';

import type { actionDescription, Template } from '#contracts/http/templates';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { statusOf } from './own-template.ts';
import type { KnownTemplate } from './own-template.ts';

export type ActionDescription = z.infer<typeof actionDescription>;

export function presentTemplate({ outline, own }: KnownTemplate): Template {
  const { server } = outline;
  return {
    key: outline.key,
    tier: outline.tier,
    owner_id: own?.tier === 'user' ? own.ownerId : null,
    status: statusOf(own),
    version: outline.version,
    published_version: own === null ? outline.version : own.publishedVersion,
    latest_version: own?.version ?? outline.version,
    title: outline.title,
    description: outline.description,
    category: outline.category,
    runtime: outline.runtime,
    hosts: [...outline.hosts],
    variables: (server?.variables ?? []).map(({ name, description, default: value }) => ({
      name,
      description,
      default: value,
    })),
    base_url_allowed: server?.baseUrlAllowed ?? false,
    auth: outline.auth.map((method) => ({
      scheme: method.scheme,
      type: method.type,
      default_secret_name: method.type === 'apiKey' ? method.defaultSecretName : null,
    })),
    actions_count: outline.actionsCount,
    updated_at: own?.updatedAt.toISOString() ?? null,
  };
}

/** The actions that callers may use; a disabled one is hidden (docs/reference/templates.md#templates). */
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
