import type { CredentialDerivation, TokenDerivation } from '../contracts/credential-derivation.ts';
import type { AuthMethod, CompiledTemplate } from '../contracts/template.ts';

/**
 * The derivation of a credential for a service at this address: the token URL is absolute, and
 * `{origin}` and the variables of the server are filled in.
 */
export function derivationAt(
  derivation: CredentialDerivation,
  baseUrl: string,
  server: CompiledTemplate['server'] = null,
): CredentialDerivation {
  if (derivation.kind !== 'aws_sigv4') return tokenDerivationAt(derivation, baseUrl);
  const variables = serverVariablesAt(server, baseUrl);
  const region = derivation.region.replaceAll(
    placeholder,
    (placeholderText, name: string) => variables.get(name) ?? placeholderText,
  );
  return { ...derivation, region };
}

const placeholder = /\{([^{}]*)\}/g;

/** The values that the variables of the server have in this base URL; none at another address. */
function serverVariablesAt(
  server: CompiledTemplate['server'],
  baseUrl: string,
): ReadonlyMap<string, string> {
  const url = (server?.url ?? '').replace(/\/+$/, '');
  const literals = url.split(/\{[^{}]*\}/).map((literal) => RegExp.escape(literal));
  const values = new RegExp(`^${literals.join('([^./:]+)')}$`, 'i').exec(
    baseUrl.replace(/\/+$/, ''),
  );
  const names = [...url.matchAll(placeholder)].map(([, name = '']) => name);
  return new Map(
    names
      .map((name, at) => [name, values?.[at + 1]?.toLowerCase()] as const)
      .flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function tokenDerivationAt(derivation: TokenDerivation, baseUrl: string): TokenDerivation {
  const { origin } = new URL(baseUrl);
  const fillOrigin = (text: string) => text.replaceAll('{origin}', () => origin);
  const { parameters } = derivation;
  const filledFields = {
    tokenUrl: tokenUrlAt(derivation.tokenUrl, baseUrl, origin),
    parameters: Object.fromEntries(
      Object.entries(parameters).map(([name, text]) => [name, fillOrigin(text)]),
    ),
  };
  if (derivation.kind !== 'jwt_bearer') return { ...derivation, ...filledFields };
  const { issuer, subject, audience } = derivation;
  return {
    ...derivation,
    ...filledFields,
    issuer: fillOrigin(issuer),
    subject: subject === null ? null : fillOrigin(subject),
    audience: fillOrigin(audience),
  };
}

function tokenUrlAt(tokenUrl: string, baseUrl: string, origin: string): string {
  if (isAbsolute(tokenUrl)) return tokenUrl;
  return tokenUrl.startsWith('/')
    ? origin + tokenUrl
    : `${baseUrl.replace(/\/+$/, '')}/${tokenUrl}`;
}

/** The host outside the service that issues the tokens; null when there is none. */
export function tokenHostOf(derivation: CredentialDerivation | undefined): string | null {
  if (derivation === undefined || derivation.kind === 'aws_sigv4') return null;
  return isAbsolute(derivation.tokenUrl) ? new URL(derivation.tokenUrl).host : null;
}

/**
 * Whether the value that a template's security scheme sends may be derived from this secret. A key
 * of the org signs a text that says for whom and for what the token is. A member's own template
 * must not choose this text: it could name another person or another installation than the admin
 * who stored the key.
 */
export function mayDeriveFromSecret(
  { tier }: Pick<CompiledTemplate, 'tier'>,
  method: AuthMethod,
  secretReference: string,
): boolean {
  const isDerived = method.type === 'apiKey' && method.derivation !== undefined;
  return !isDerived || tier !== 'user' || !secretReference.startsWith('org/');
}

const isAbsolute = (url: string): boolean => /^https?:\/\//.test(url);
