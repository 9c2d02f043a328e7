import type { TemplateReference } from '#contracts/call';
import type { TokenActor } from '#contracts/oauth-provider';
import { AppError } from '#errors';
import { credentialHostsFor } from '#templates';
import { toReference } from './catalog.ts';
import { buildScopePresets } from './domain/scope-presets.ts';
import type { Deps } from '../deps.ts';
import { getConnectableTemplate } from './get-connectable-template.ts';

interface TemplateOauth {
  provider: string;
  scheme: string;
  actsAs: TokenActor | null;
  authorizationUrl: string;
  tokenUrl: string;
  scopes: string[];
  hosts: string[];
  template: TemplateReference;
}

/**
 * Returns what creating a connection needs: the named OAuth scheme of the template or its first one,
 * the scopes that its reads need, and the hosts to which the token will go.
 */
export async function describeTemplateOauth(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  {
    principal,
    key,
    isForOrg,
    scheme,
  }: { principal: string; key: string; isForOrg: boolean; scheme?: string | undefined },
): Promise<TemplateOauth> {
  const caller = deps.readPrincipal(principal);
  const template = await getConnectableTemplate(deps, caller, { key, tier: null, isForOrg });
  const oauthMethods = template.auth.filter((each) => each.type === 'oauth2');
  const method = oauthMethods.find((each) => scheme === undefined || each.scheme === scheme);
  const [first] = oauthMethods;
  if (method === undefined && first !== undefined) {
    const knownSchemes = oauthMethods.map((each) => each.scheme).join(', ');
    throw new AppError(
      'conflict',
      `The template "${key}" has no security scheme "${scheme}" that uses OAuth. Known: ${knownSchemes}.`,
    );
  }
  if (method === undefined) {
    throw new AppError(
      'conflict',
      `The template "${key}" takes no connection; connect its service with secrets.`,
    );
  }
  const { provider, authorizationUrl, tokenUrl, actsAs = null } = method;
  return {
    provider,
    scheme: method.scheme,
    actsAs,
    authorizationUrl,
    tokenUrl,
    scopes: buildScopePresets(template, method).read_only,
    hosts: [...credentialHostsFor(template, [method.scheme])],
    template: toReference(template),
  };
}
