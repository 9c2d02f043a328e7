import type { AuthMethod, CompiledAction, CompiledTemplate } from '#contracts/template';
import { missingScopes, scopeRowOf, withoutImplied } from '#providers';
import { scopeNeedsOf } from '#templates';
import { enabledActions } from './enabled-actions.ts';

type OauthMethod = Extract<AuthMethod, { type: 'oauth2' }>;

/**
 * The fewest scopes that a connection by this scheme needs for all reads, and for all actions. When
 * no action states what it needs, these are all scopes of the scheme.
 */
export function buildScopePresets(
  template: CompiledTemplate,
  method: OauthMethod,
): { read_only: string[]; read_and_change: string[] } {
  const actions = enabledActions(template);
  const allScopes = scopesFor(actions, { template, method });
  if (allScopes.length === 0)
    return { read_only: [...method.scopes], read_and_change: [...method.scopes] };
  const readActions = actions.filter(({ risk }) => risk === 'read');
  return { read_only: scopesFor(readActions, { template, method }), read_and_change: allScopes };
}

/** The fewest scopes that each action needs; actions that need none are left out. */
export function scopesOfActions(
  template: CompiledTemplate,
  method: OauthMethod,
): Record<string, string[]> {
  return Object.fromEntries(
    enabledActions(template)
      .map((action) => [action.key, scopesFor([action], { template, method })] as const)
      .filter(([, scopes]) => scopes.length > 0),
  );
}

function scopesFor(
  actions: readonly CompiledAction[],
  { template, method }: { template: CompiledTemplate; method: OauthMethod },
): string[] {
  const { scheme, provider } = method;
  const row = scopeRowOf(provider);
  const schemes = template.security.find((schemesOfWay) => schemesOfWay.includes(scheme)) ?? [
    scheme,
  ];
  const scopes: string[] = [];
  for (const action of actions) {
    const alternatives = scopeNeedsOf(action, { schemes, scheme }) ?? [];
    scopes.push(...missingScopes(row, { granted: scopes, alternatives }));
  }
  return withoutImplied(row, [...new Set(scopes)]);
}
