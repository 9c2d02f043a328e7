import type { TokenDerivation } from '#contracts/credential-derivation';
import { assertionTimesOf, signAssertion } from './assertion.ts';
import { fillInParts, unfitSecretError } from './secret-parts.ts';
import type { SecretParts } from './secret-parts.ts';

export interface TokenRequest {
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  /** The fields of the body; null for a request without a body. */
  readonly fields: Readonly<Record<string, string>> | null;
  /** Texts that the provider may repeat and that must not be stored or shown. */
  readonly secrets: readonly string[];
}

interface AssertionSource {
  readonly parts: SecretParts;
  /** The name of the secret, for errors. */
  readonly name: string;
  readonly nowMs: number;
  /** An id that is unique to this assertion. */
  readonly assertionId: string;
}

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const jwtAssertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Writes the request for a token. Throws `credential_missing` when a part cannot be used. */
export function tokenRequestOf(derivation: TokenDerivation, source: AssertionSource): TokenRequest {
  const url = fillTokenUrl(derivation.tokenUrl, source);
  const parameters = fillParameters(derivation.parameters, source);
  const secretValues = derivation.secret.flatMap((part) => source.parts.get(part) ?? []);
  switch (derivation.kind) {
    case 'client_credentials': {
      const { headers, fields } = authenticationOf(derivation, url, source);
      const scope = toScopeText(derivation.scopes, source);
      return {
        url,
        headers,
        fields: {
          grant_type: 'client_credentials',
          ...(scope === '' ? {} : { scope }),
          ...parameters,
          ...fields,
        },
        secrets: [...secretValues, ...Object.values(fields).filter(isAssertion)],
      };
    }
    case 'jwt_bearer': {
      const assertion = signAssertion(
        bearerClaimsOf(derivation, source),
        source.parts,
        source.name,
      );
      return {
        url,
        headers: [],
        fields: { grant_type: jwtBearer, assertion, ...parameters },
        secrets: [...secretValues, assertion],
      };
    }
    case 'github_app': {
      const claims = { ...assertionTimesOf(source.nowMs), iss: source.parts.get('app_id') ?? '' };
      const assertion = signAssertion(claims, source.parts, source.name);
      return {
        url,
        headers: [
          ['authorization', `Bearer ${assertion}`],
          ['x-github-api-version', '2022-11-28'],
        ],
        fields: null,
        secrets: [...secretValues, assertion],
      };
    }
  }
}

function bearerClaimsOf(
  { issuer, subject, audience, scopes }: Extract<TokenDerivation, { kind: 'jwt_bearer' }>,
  source: AssertionSource,
): Record<string, string | number> {
  const { parts, name, nowMs } = source;
  const subjectText = subject === null ? undefined : fillInParts(subject, parts);
  const scope = toScopeText(scopes, source);
  return {
    iss: requirePart(issuer, { parts, name }),
    ...(subjectText === undefined ? {} : { sub: subjectText }),
    aud: requirePart(audience, { parts, name }),
    ...(scope === '' ? {} : { scope }),
    ...assertionTimesOf(nowMs),
  };
}

/**
 * Authenticates the client (RFC 6749 §2.3.1, RFC 7523 §2.2). Encodes only characters that must be
 * encoded, because many providers do not decode the values.
 */
function authenticationOf(
  { authentication }: Extract<TokenDerivation, { kind: 'client_credentials' }>,
  url: string,
  { parts, name, nowMs, assertionId }: AssertionSource,
): { headers: TokenRequest['headers']; fields: Record<string, string> } {
  const clientId = parts.get('client_id') ?? '';
  const secret = parts.get('client_secret') ?? '';
  switch (authentication) {
    case 'client_secret_basic': {
      const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`;
      const header = `Basic ${Buffer.from(pair).toString('base64')}`;
      return { headers: [['authorization', header]], fields: {} };
    }
    case 'client_secret_post':
      return { headers: [], fields: { client_id: clientId, client_secret: secret } };
    case 'private_key_jwt': {
      const times = assertionTimesOf(nowMs);
      const claims = { iss: clientId, sub: clientId, aud: url, jti: assertionId, ...times };
      const fields = {
        client_id: clientId,
        client_assertion_type: jwtAssertion,
        client_assertion: signAssertion(claims, parts, name),
      };
      return { headers: [], fields };
    }
  }
}

/**
 * The scopes to request: the template's scopes, or only those that the part `scopes` of the secret
 * also lists.
 */
function toScopeText(scopes: readonly string[], { parts, name }: AssertionSource): string {
  const chosen = parts
    .get('scopes')
    ?.split(/[\s,]+/)
    .filter((scope) => scope !== '');
  if (chosen === undefined || chosen.length === 0) return scopes.join(' ');
  const fitting = scopes.filter((scope) => chosen.includes(scope));
  if (fitting.length > 0) return fitting.join(' ');
  throw unfitSecretError(name, 'names no scope under scopes that its service knows', {
    parts: ['scopes'],
  });
}

/** A parameter is left out if it refers to a part that the secret does not have. */
function fillParameters(
  parameters: Readonly<Record<string, string>>,
  { parts }: AssertionSource,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([name, text]) => {
      const value = fillInParts(text, parts);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * Fills values into segments of the path. The encoding prevents a value from changing the host or
 * the rest of the path.
 */
function fillTokenUrl(url: string, { parts, name }: AssertionSource): string {
  const filledText = fillInParts(url, parts, (value, part) => {
    if (/^[\w~-][\w.~-]{0,127}$/.test(value)) return value;
    throw unfitSecretError(name, `has a ${part} that does not look like one`, { parts: [part] });
  });
  return filledText ?? requirePart(url, { parts, name });
}

function requirePart(
  text: string,
  { parts, name }: Pick<AssertionSource, 'parts' | 'name'>,
): string {
  const filledText = fillInParts(text, parts);
  if (filledText !== undefined) return filledText;
  const absentPart = [...text.matchAll(/\{([a-z][a-z0-9_]*)\}/g)]
    .map(([, part = '']) => part)
    .filter((part) => !parts.has(part));
  throw unfitSecretError(name, `lacks ${absentPart.join(', ')}`, { parts: absentPart });
}

const isAssertion = (text: string): boolean => /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/.test(text);
