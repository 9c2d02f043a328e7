import type { JsonValue } from '#contracts/vocabulary';

const scopesMax = 50;

/**
 * The scopes that a credential lacks, as the provider names them: in a challenge (RFC 6750 §3.1),
 * in GitHub's headers, or in the body as GitLab, Slack, HubSpot, Dropbox, Zoom, Figma, Shopify and
 * Auth0 do. Undefined when it names none.
 */
export function findMissingScopes(
  headers: Readonly<Record<string, string>>,
  body: JsonValue,
): string[] | undefined {
  return toScopes(scopesSaid(headers, body) ?? scopesOfGithub(headers));
}

/**
 * Whether the answer refuses the call because of missing scopes. The status alone does not show
 * that: Dropbox answers 401, Zoom 400.
 */
export function refusesScopes(headers: Readonly<Record<string, string>>, body: JsonValue): boolean {
  return toScopes(scopesSaid(headers, body)) !== undefined;
}

function scopesSaid(
  headers: Readonly<Record<string, string>>,
  body: JsonValue,
): string[] | undefined {
  return (
    scopesOfChallenge(headers['www-authenticate']) ?? scopesOfBody(body, 2) ?? scopesInWords(body)
  );
}

function toScopes(scopes: readonly string[] | undefined): string[] | undefined {
  const validScopes = [...new Set(scopes)].filter((scope) => /^[\x21-\x7e]{1,300}$/.test(scope));
  return validScopes.length === 0 ? undefined : validScopes.slice(0, scopesMax);
}

function scopesOfChallenge(challenge: string | undefined): string[] | undefined {
  if (challenge === undefined || !/error="?insufficient_scope"?/.test(challenge)) return undefined;
  return splitScopes(/\bscope="([^"]{1,4000})"/.exec(challenge)?.[1]);
}

/**
 * GitHub names the scopes that the endpoint accepts, of which one is enough, and the scopes of the
 * token. The first accepted scope is the narrowest.
 */
function scopesOfGithub(headers: Readonly<Record<string, string>>): string[] | undefined {
  const grantedHeader = headers['x-oauth-scopes'];
  const acceptedScopes = splitScopes(headers['x-accepted-oauth-scopes']);
  if (grantedHeader === undefined || acceptedScopes === undefined) return undefined;
  const grantedScopes = new Set(splitScopes(grantedHeader));
  return acceptedScopes.some((scope) => grantedScopes.has(scope))
    ? undefined
    : acceptedScopes.slice(0, 1);
}

function scopesOfBody(body: JsonValue | undefined, depth: number): string[] | undefined {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return undefined;
  const { error, category, scope, needed, context, errors } = body;
  if (isRecord(error) && error['.tag'] === 'missing_scope')
    return splitScopes(error['required_scope']);
  if (error === 'insufficient_scope') return splitScopes(scope);
  if (error === 'missing_scope') return splitScopes(needed);
  if (category === 'MISSING_SCOPES' && isRecord(context))
    return scopesInList(context['requiredScopes']);
  const [first] = Array.isArray(errors) ? errors : [];
  if (!isRecord(first) || depth === 0) return undefined;
  const { context: inner } = first;
  if (category === 'MISSING_SCOPES' && isRecord(inner))
    return scopesInList(inner['requiredScopes']);
  return scopesOfBody(first, depth - 1);
}

/** Messages of Zoom, Figma, Shopify and Auth0. Each scope in a message is enough by itself. */
const sentences = [
  /\bdoes not contain scopes:\s?\[([^\]]{1,2000})\]/,
  /\bThis endpoint requires the ([\w:.]{1,200}(?:,? or [\w:.]{1,200}){0,10}) scope\b/,
  /\brequires merchant approval for (\w{1,200}) scope\b/,
  /^Insufficient scope, expected any of: (.{1,2000})$/,
];
const wordsMax = 4_000;

/**
 * The shortest scope in the message: longer scopes are for administrators or give access to more.
 */
function scopesInWords(body: JsonValue): string[] | undefined {
  if (!isRecord(body)) return undefined;
  const words = [body['message'], body['err'], body['errors']].find(
    (each) => typeof each === 'string',
  );
  if (typeof words !== 'string') return undefined;
  const text = words.slice(0, wordsMax);
  const match = sentences.map((sentence) => sentence.exec(text)?.[1]).find((each) => each);
  const scopes = splitScopes(match)?.filter((each) => each !== 'or') ?? [];
  const [shortest] = scopes.toSorted((a, b) => a.length - b.length);
  return shortest === undefined ? undefined : [shortest];
}

function scopesInList(value: JsonValue | undefined): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter((each) => typeof each === 'string').slice(0, scopesMax);
}

function splitScopes(value: JsonValue | undefined): string[] | undefined {
  if (typeof value !== 'string') return undefined;
  const scopes = value
    .slice(0, 10_000)
    .split(/[\s,]+/)
    .filter(Boolean);
  return scopes.length === 0 ? undefined : scopes;
}

function isRecord(value: JsonValue | undefined): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
