import type { z } from 'zod';

import type {
  actionDescription,
  NeededCredential,
  Template,
  TemplateDetail,
} from '#contracts/http/templates';
import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import type { ServerVariable } from '#contracts/template-server';
import {
  accountAddressOf,
  credentialHostsFor,
  serverFor,
  serversOf,
  tokenHostOf,
} from '#templates';
import { isRestricted, scopeRowOf } from '#providers';
import { enabledActions } from './enabled-actions.ts';
import { templateStatusOf } from './own-template.ts';
import type { VisibleTemplate } from './own-template.ts';
import { buildScopePresets, scopesOfActions } from './scope-presets.ts';

type Address = NonNullable<TemplateDetail['addresses']>[number];
export type ActionDescription = z.infer<typeof actionDescription>;

export function presentTemplate({ outline, own }: VisibleTemplate): Template {
  const { server } = outline;
  return {
    key: outline.key,
    tier: outline.tier,
    owner_id: own?.tier === 'user' ? own.ownerId : null,
    status: templateStatusOf(own),
    version: outline.version,
    published_version: own === null ? outline.version : own.publishedVersion,
    latest_version: own?.version ?? outline.version,
    title: outline.title,
    description: outline.description,
    category: outline.category,
    runtime: outline.runtime === 'http_servers' ? 'http' : outline.runtime,
    hosts: [...outline.hosts],
    variables: presentVariables(serversOf(outline)[0]?.variables ?? []),
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

function presentVariables(variables: readonly ServerVariable[]): Template['variables'] {
  // The form does not ask for values that come from the account.
  return variables
    .filter(({ account }) => account === undefined)
    .map(({ name, description, default: value }) => ({ name, description, default: value }));
}

/** Presents what a person needs to know to connect a service of the template. */
export function presentWays(
  template: CompiledTemplate,
): Pick<TemplateDetail, 'base_url' | 'mcp_server' | 'ways' | 'addresses'> {
  const { server, security, auth, mcp } = template;
  const waysToConnect = security.map((schemes) =>
    auth
      .filter(({ scheme }) => schemes.includes(scheme))
      .map((method) => presentNeededCredential(template, method)),
  );
  if (server === null) return { ways: waysToConnect };
  return {
    base_url: server.url,
    ...(mcp === undefined ? {} : { mcp_server: server.url + mcp.path }),
    ways: waysToConnect,
    ...(hasOtherServers(template) && {
      addresses: security.map((way) => presentAddress(template, way)),
    }),
  };
}

/** Whether the template has servers to which some or all of its credentials do not go. */
function hasOtherServers(template: CompiledTemplate): boolean {
  const { length } = credentialHostsFor(template, undefined);
  return template.servers !== undefined || template.hosts.length > length;
}

function presentAddress(template: CompiledTemplate, schemes: readonly string[]): Address {
  const server = serverFor(template, schemes);
  const { url: base_url = '', variables = [] } = server ?? {};
  const hosts = [...credentialHostsFor(template, schemes)];
  const isOfAccount = accountAddressOf(server) !== undefined;
  return {
    base_url,
    variables: presentVariables(variables),
    ...(isOfAccount ? { is_of_account: true } : {}),
    hosts,
  };
}

function presentNeededCredential(template: CompiledTemplate, method: AuthMethod): NeededCredential {
  const { scheme, label, description, actsAs } = method;
  const shownFields = {
    ...(label === undefined ? {} : { label }),
    ...(actsAs === undefined ? {} : { acts_as: actsAs }),
  };
  if (method.type === 'oauth2') {
    const { provider, scopes, scopeWords } = method;
    const row = scopeRowOf(provider);
    return {
      kind: 'connection',
      scheme,
      provider,
      scopes: [...scopes],
      ...shownFields,
      ...(scopeWords === undefined ? {} : { scope_words: scopeWords }),
      restricted_scopes: scopes.filter((scope) => isRestricted(row, scope)),
      presets: buildScopePresets(template, method),
      scopes_of_actions: scopesOfActions(template, method),
    };
  }
  const tokenHost = tokenHostOf(method.derivation);
  return {
    kind: 'secret',
    scheme,
    default_secret_name: method.defaultSecretName,
    ...(description === undefined ? {} : { description }),
    sent_as: `${method.name}: ${method.prefix}`.trim(),
    encoding: method.encoding === 'derived' ? 'raw' : method.encoding,
    ...(method.parts === undefined ? {} : { parts: [...method.parts] }),
    ...(tokenHost === null ? {} : { token_hosts: [tokenHost] }),
    ...shownFields,
  };
}

/**
 * Presents the actions that callers may use. Disabled actions are left out
 * (docs/reference/templates.md#templates).
 */
export function presentActions(template: CompiledTemplate): ActionDescription[] {
  return enabledActions(template).map((action) => ({
    action: action.key,
    summary: action.summary,
    method: action.method,
    path: action.path,
    ...(action.server === undefined ? {} : { server: action.server.url }),
    risk: action.risk,
    ...(action.deprecated && { deprecated: action.deprecated }),
    params_schema: action.paramsSchema,
  }));
}
