import type { TemplateReference } from '#contracts/call';
import { AppError } from '#errors';
import { referenceTo } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { getConnectableTemplate } from '../lookups/connectable-template.ts';

interface TemplateOauth {
  provider: string;
  authorizationUrl: string;
  tokenUrl: string;
  scopes: string[];
  hosts: string[];
  template: TemplateReference;
}

/** What a connection for this template is made with: its first OAuth scheme, and the hosts its token will go to. */
export async function describeTemplateOauth(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, isForOrg }: { principal: string; key: string; isForOrg: boolean },
): Promise<TemplateOauth> {
  const caller = deps.readPrincipal(principal);
  const template = await getConnectableTemplate(deps, caller, { key, tier: null, isForOrg });
  const method = template.auth.find((each) => each.type === 'oauth2');
  if (method === undefined) {
    throw new AppError(
      'conflict',
      `The template "${key}" takes no connection; connect its service with secrets.`,
    );
  }
  const { provider, authorizationUrl, tokenUrl, scopes } = method;
  const { hosts } = template;
  return { provider, authorizationUrl, tokenUrl, scopes, hosts, template: referenceTo(template) };
}
