import type { OauthProvider } from '#contracts/oauth-provider';

export interface VariableProblem {
  readonly variable: string;
  readonly message: string;
}

type Variables = Readonly<Record<string, string>>;

const placeholder = /\{([a-z_]+)\}/g;

/**
 * The values of a provider's `{…}` parts: the given values, and otherwise the defaults. With these
 * values, each address of the provider is a URL.
 */
export function readVariables(
  provider: OauthProvider,
  givenVariables: Variables,
): { readonly values: Variables } | { readonly problems: VariableProblem[] } {
  const values: Record<string, string> = {};
  const problems: VariableProblem[] = [];
  for (const [variable, { default: defaultValue, pattern, description }] of Object.entries(
    provider.variables,
  )) {
    const value = givenVariables[variable] ?? defaultValue;
    if (value === undefined) {
      problems.push({ variable, message: `is required: ${description}` });
    } else if (!new RegExp(`^(?:${pattern})$`).test(value)) {
      problems.push({ variable, message: `does not look like one: ${description}` });
    } else {
      values[variable] = value;
    }
  }
  for (const variable of Object.keys(givenVariables)) {
    if (Object.hasOwn(provider.variables, variable)) continue;
    problems.push({ variable, message: 'is not a variable of this provider' });
  }
  if (problems.length === 0) problems.push(...findUnfitValues(provider, values));
  return problems.length === 0 ? { values } : { problems };
}

/**
 * A value may have the form of its variable and still make no URL: `1.2.3.256` ends in a number, so
 * as a host it would have to be an address.
 */
function findUnfitValues(
  { variables, account, revocation, ...provider }: OauthProvider,
  values: Variables,
): VariableProblem[] {
  const { authorization_url, token_url, refresh_url, issuer } = provider;
  const accountUrl = account?.url === 'answer' ? undefined : account?.url;
  const addresses = [
    authorization_url,
    token_url,
    refresh_url,
    issuer,
    accountUrl,
    revocation?.url,
  ];
  const unfitAddresses = addresses.filter(
    (each) => each !== undefined && !URL.canParse(fillText(each, values)),
  );
  return Object.keys(variables)
    .filter((variable) => unfitAddresses.some((each) => each?.includes(`{${variable}}`)))
    .map((variable) => ({ variable, message: 'makes an address of the provider that is no URL' }));
}

const fillText = (text: string, values: Variables): string =>
  text.replaceAll(
    placeholder,
    (placeholderText, variable: string) => values[variable] ?? placeholderText,
  );

/** The provider with every `{…}` part filled in, including `{client_id}` in the revocation URL. */
export function fillProvider(
  provider: OauthProvider,
  { values, clientId }: { values: Variables; clientId: string },
): OauthProvider {
  const { revocation, account } = provider;
  const fill = (text: string) => fillText(text, values);
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
            url: fillText(revocation.url, { ...values, client_id: encodeURIComponent(clientId) }),
          },
        }),
  };
}

/**
 * Whether a URL belongs to the provider: with any values of its variables, or with the variables
 * unfilled.
 */
export function isProviderUrl(
  { variables }: Pick<OauthProvider, 'variables'>,
  urlTemplate: string,
  url: string,
): boolean {
  if (url === urlTemplate) return true;
  const escapeRegExp = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const patternParts = urlTemplate.split(placeholder).map((part, index) => {
    if (index % 2 === 0) return escapeRegExp(part);
    return `(?:${variables[part]?.pattern ?? escapeRegExp(`{${part}}`)})`;
  });
  return new RegExp(`^${patternParts.join('')}$`).test(url);
}

function mapValues(
  givenValues: Readonly<Record<string, string>>,
  changeValue: (value: string) => string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(givenValues).map(([name, value]) => [name, changeValue(value)]),
  );
}
