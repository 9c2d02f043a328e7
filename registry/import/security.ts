import type { JsonValue } from '#contracts/vocabulary';
import {
  builtInProviders,
  fillProvider,
  findProviderAt,
  hasProviderUrls,
  readVariables,
} from '#providers';
import { isObject } from '../domain/context.ts';
import type { JsonObject, Place } from '../domain/context.ts';
import { isHeaderName, isReservedHeader } from '../domain/headers.ts';
import { follow, isUnsafeName, objectAt, shorten, textAt } from './source.ts';
import type { Source } from './source.ts';

const schemesMax = 20;
const requirementsMax = 20;
const scopesMax = 500;

/** The ways of authenticating that a template can express, by their names in the document. */
export type Schemes = ReadonlyMap<string, JsonObject>;

export function convertSchemes(source: Source, key: string): Schemes {
  const at = ['components', 'securitySchemes'];
  const declared = objectAt(source.document['components'], 'securitySchemes');
  const schemes = new Map<string, JsonObject>();
  for (const [name, value] of Object.entries(declared)) {
    const place = follow(source, { value, path: [...at, name] });
    if (place === undefined || isUnsafeName(name) || name.length > 100) continue;
    const scheme = convertScheme(source, place, { name, key });
    if (typeof scheme === 'string') {
      source.notes.warn(
        'auth_unsupported',
        place.path,
        `The scheme "${name}" is left out: ${scheme}.`,
      );
    } else if (schemes.size < schemesMax) schemes.set(name, scheme);
  }
  return schemes;
}

interface SchemeName {
  readonly name: string;
  readonly key: string;
}

/** The scheme, or why a template cannot have it. */
function convertScheme(
  source: Source,
  at: Place<JsonObject>,
  { name, key }: SchemeName,
): JsonObject | string {
  const secret = { 'x-service-default-secret-name': slug(`${key}_${snake(name)}`) };
  const given = textAt(at.value, 'description');
  const description = given === undefined ? {} : { description: shorten(given, 1000) };
  switch (at.value['type']) {
    case 'apiKey':
      return convertApiKey(at.value, { ...description, ...secret });
    case 'http': {
      const scheme = (textAt(at.value, 'scheme') ?? '').toLowerCase();
      if (scheme === 'bearer' || scheme === 'basic')
        return { type: 'http', scheme, ...description, ...secret };
      return `the HTTP scheme "${shorten(scheme, 50)}" is not supported`;
    }
    case 'oauth2': {
      const flow = convertFlow(at.value);
      if (flow) return { type: 'oauth2', ...description, ...flow };
      return asBearer(source, at, { ...description, ...secret });
    }
    case 'openIdConnect':
      return asBearer(source, at, { ...description, ...secret });
    default:
      return 'its type is not supported';
  }
}

/** OAuth that cannot be run here still ends in a bearer token (RFC 6750), which may be made elsewhere. */
function asBearer(source: Source, at: Place, rest: JsonObject): JsonObject {
  const message =
    'Only the authorization code flow with absolute https URLs can be run here; a token made elsewhere can be given as a secret.';
  source.notes.warn('auth_changed', at.path, message);
  return { type: 'http', scheme: 'bearer', ...rest };
}

function convertApiKey(given: JsonObject, rest: JsonObject): JsonObject | string {
  const name = textAt(given, 'name') ?? '';
  const location = given['in'];
  if (location !== 'header' && location !== 'query')
    return 'a credential goes into a header or the query';
  // What stands there is a signature of the request, made anew for each.
  if (/^awsSigv4$/i.test(textAt(given, 'x-amazon-apigateway-authtype') ?? '')) {
    return 'requests would have to be signed';
  }
  if (name === '' || name.length > 200 || !/^[\x21-\x7e]+$/.test(name))
    return 'its name cannot be used';
  const isForbidden =
    !isHeaderName(name) || (isReservedHeader(name) && !/^authorization$/i.test(name));
  if (location === 'header' && isForbidden)
    return `a credential cannot go into the header "${name}"`;
  return { type: 'apiKey', in: location, name, ...rest };
}

function convertFlow(given: JsonObject): JsonObject | undefined {
  const flow = objectAt(objectAt(given, 'flows'), 'authorizationCode');
  const authorizationUrl = endpoint(flow['authorizationUrl']);
  const tokenUrl = endpoint(flow['tokenUrl']);
  if (authorizationUrl === undefined || tokenUrl === undefined) return undefined;
  const scopes = Object.entries(objectAt(flow, 'scopes'))
    .filter(([scope]) => isScope(scope))
    .slice(0, scopesMax)
    .map(([scope, text]) => [scope, typeof text === 'string' ? shorten(text, 500) : '']);
  const { provider, ...addresses } = providerOf({ authorizationUrl, tokenUrl });
  return {
    'x-service-provider': provider,
    flows: { authorizationCode: { ...addresses, scopes: Object.fromEntries(scopes) } },
  };
}

function isScope(scope: string): boolean {
  return scope !== '' && scope.length <= 300 && !isUnsafeName(scope);
}

function endpoint(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'string' || value.length > 2000 || !URL.canParse(value)) return undefined;
  const url = new URL(value);
  return url.protocol === 'https:' && url.username === '' && url.hash === '' ? value : undefined;
}

interface Addresses {
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
}

/**
 * The built-in provider at whose host people would sign in, with the addresses that it has today:
 * descriptions often name older ones. Else a name made from the host (`https://id.acme.com/…` →
 * `acme`): templates that sign in at one place share its provider app.
 */
function providerOf(given: Addresses): Addresses & { provider: string } {
  const known = findProviderAt(given.authorizationUrl);
  if (known !== undefined) {
    if (hasProviderUrls(known.key, given)) return { ...given, provider: known.key };
    const read = readVariables(known, {});
    if ('values' in read) {
      const row = fillProvider(known, { values: read.values, clientId: '' });
      const { authorization_url: authorizationUrl, token_url: tokenUrl } = row;
      return { authorizationUrl, tokenUrl, provider: known.key };
    }
  }
  const labels = new URL(given.authorizationUrl).hostname.split('.').slice(0, -1);
  const generic =
    /^(?:www|api|apis|accounts?|auth|oauth2?|login|id|identity|sso|signin|secure|co|com)$/;
  const telling = labels.filter((each) => !generic.test(each));
  const name = slug((telling.length > 0 ? telling : labels).join('_'));
  return { ...given, provider: builtInProviders().has(name) ? `${name.slice(0, 57)}_other` : name };
}

/** A name of ours: of a secret, a provider, a template. */
export function slug(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, 63)
    .replace(/_+$/, '');
  return name === '' ? 'imported' : name;
}

function snake(text: string): string {
  return text.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2');
}

/**
 * OpenAPI's list of alternatives, without those that need a scheme the template does not have.
 * Undefined where nothing is said, or nothing is left.
 */
export function convertRequirements(
  source: Source,
  { value, path }: Place<JsonValue | undefined>,
  schemes: Schemes,
): JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const alternatives = value.slice(0, requirementsMax).flatMap((requirement, index) => {
    if (!isObject(requirement)) return [];
    const named = Object.entries(requirement);
    if (named.length > 5 || named.some(([name]) => !schemes.has(name))) return [];
    const entries = named.map(([name, scopes]) => {
      const list = Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [];
      const place = { value: list.filter(isScope).slice(0, 100), path: [...path, index, name] };
      return [name, checkScopes(source, place, schemes.get(name)!)] as const;
    });
    return [Object.fromEntries(entries)];
  });
  return alternatives.length === 0 && value.length > 0 ? undefined : alternatives;
}

/** A scope that an operation asks for can be asked for at sign-in too, listed there or not. */
function checkScopes(
  source: Source,
  { value: scopes, path }: Place<string[]>,
  scheme: JsonObject,
): string[] {
  if (scheme['type'] !== 'oauth2') return [];
  const known = objectAt(objectAt(objectAt(scheme, 'flows'), 'authorizationCode'), 'scopes');
  const listed = Object.keys(known).length;
  if (listed === 0) return scopes;
  return scopes.filter((scope) => {
    if (Object.hasOwn(known, scope)) return true;
    if (Object.keys(known).length >= scopesMax) return false;
    known[scope] = '';
    source.notes.info(
      'scope_added',
      path,
      `The scheme does not list the scope "${scope.slice(0, 200)}"; it was added.`,
    );
    return true;
  });
}
