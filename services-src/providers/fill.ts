import type { OauthProvider } from '#contracts/oauth-provider';

export interface VariableProblem {
  readonly variable: string;
  readonly message: string;
}

type Variables = Readonly<Record<string, string>>;

const placeholder = /\{([a-z_]+)\}/g;

/** The values that a provider's `{…}` parts get: what is given, then the defaults. */
export function readVariables(
  provider: Pick<OauthProvider, 'variables'>,
  given: Variables,
): { readonly values: Variables } | { readonly problems: VariableProblem[] } {
  const values: Record<string, string> = {};
  const problems: VariableProblem[] = [];
  for (const [variable, { default: fallback, pattern, description }] of Object.entries(
    provider.variables,
  )) {
    const value = given[variable] ?? fallback;
    if (value === undefined) {
      problems.push({ variable, message: `is required: ${description}` });
    } else if (!new RegExp(`^(?:${pattern})$`).test(value)) {
      problems.push({ variable, message: `does not look like one: ${description}` });
    } else {
      values[variable] = value;
    }
  }
  for (const variable of Object.keys(given)) {
    if (Object.hasOwn(provider.variables, variable)) continue;
    problems.push({ variable, message: 'is not a variable of this provider' });
  }
  return problems.length === 0 ? { values } : { problems };
}

/** The provider with every `{…}` part filled in; `{client_id}` counts as one in the address of revocation. */
export function fillProvider(
  provider: OauthProvider,
  { values, clientId }: { values: Variables; clientId: string },
): OauthProvider {
  const { revocation, account } = provider;
  const fill = (text: string, all: Variables = values) =>
    text.replaceAll(placeholder, (whole, variable: string) => all[variable] ?? whole);
  return {
    ...provider,
    authorization_url: fill(provider.authorization_url),
    token_url: fill(provider.token_url),
    ...(provider.refresh_url === undefined ? {} : { refresh_url: fill(provider.refresh_url) }),
    ...(provider.issuer === undefined ? {} : { issuer: fill(provider.issuer) }),
    authorize_parameters: mapValues(provider.authorize_parameters, fill),
    hosts: provider.hosts.map((host) => fill(host)),
    ...(account === undefined ? {} : { account: { ...account, url: fill(account.url) } }),
    ...(revocation === undefined
      ? {}
      : {
          revocation: {
            ...revocation,
            url: fill(revocation.url, { ...values, client_id: encodeURIComponent(clientId) }),
          },
        }),
  };
}

/** Whether an address is the provider's, whatever its variables are, or with them left open. */
export function isProviderUrl(
  { variables }: Pick<OauthProvider, 'variables'>,
  template: string,
  url: string,
): boolean {
  if (url === template) return true;
  const escape = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const parts = template.split(placeholder).map((part, at) => {
    if (at % 2 === 0) return escape(part);
    return `(?:${variables[part]?.pattern ?? escape(`{${part}}`)})`;
  });
  return new RegExp(`^${parts.join('')}$`).test(url);
}

function mapValues(
  given: Readonly<Record<string, string>>,
  change: (value: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, change(value)]));
}
