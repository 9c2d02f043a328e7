import {
  credentialPlaceList,
  credentialPlaces,
  findCollision,
  isCredentialPlace,
} from '#contracts/credential-place';
import type { CredentialPlace } from '#contracts/credential-place';
import type { JsonValue } from '#contracts/vocabulary';
import {
  builtInProviders,
  fillProvider,
  findProviderAt,
  hasProviderUrls,
  readVariables,
} from '#providers';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { refusalOfCredentialName } from '../../security/domain/credential-name.ts';
import { followReference, isUnsafeName, objectAt, shortenText, textAt } from './source.ts';
import type { ImportSource } from './source.ts';

export const schemesMax = 20;
export const requirementsMax = 20;
const scopesMax = 500;
/** The most schemes that a call may need together. */
export const schemesTogetherMax = 5;

/** The security schemes that the template has, by their names in the source document. */
export type Schemes = ReadonlyMap<string, JsonObject>;

export function convertSchemes(source: ImportSource, key: string): Schemes {
  const schemesPath = ['components', 'securitySchemes'];
  const declaredSchemes = objectAt(source.document['components'], 'securitySchemes');
  const schemes = new Map<string, JsonObject>();
  for (const [name, value] of Object.entries(declaredSchemes)) {
    const schemeNode = followReference(source, { value, path: [...schemesPath, name] });
    if (schemeNode === undefined || isUnsafeName(name) || name.length > 100) continue;
    const scheme = convertScheme(source, schemeNode, { name, key });
    if (typeof scheme === 'string') {
      source.notes.warn(
        'auth_unsupported',
        schemeNode.path,
        `The scheme "${name}" is left out: ${scheme}.`,
      );
    } else if (schemes.size < schemesMax) schemes.set(name, scheme);
  }
  return schemes;
}

interface NamedScheme {
  readonly name: string;
  readonly key: string;
}

/** Converts a security scheme, or returns the reason why a template cannot have the scheme. */
export function convertScheme(
  source: ImportSource,
  node: DocumentNode<JsonObject>,
  { name, key }: NamedScheme,
): JsonObject | string {
  const secret = { 'x-service-default-secret-name': toSlug(`${key}_${toSnakeCase(name)}`) };
  const givenDescription = textAt(node.value, 'description');
  const description =
    givenDescription === undefined ? {} : { description: shortenText(givenDescription, 1000) };
  switch (node.value['type']) {
    case 'apiKey':
      return convertApiKey(node.value, { ...description, ...secret });
    case 'http': {
      const scheme = (textAt(node.value, 'scheme') ?? '').toLowerCase();
      if (scheme === 'bearer' || scheme === 'basic')
        return { type: 'http', scheme, ...description, ...secret };
      return `the HTTP scheme "${shortenText(scheme, 50)}" is not supported`;
    }
    case 'oauth2': {
      const flow = convertFlow(node.value);
      if (flow) return { type: 'oauth2', ...description, ...flow };
      return toBearerScheme(source, node, { ...description, ...secret });
    }
    case 'openIdConnect':
      return toBearerScheme(source, node, { ...description, ...secret });
    default:
      return 'its type is not supported';
  }
}

/**
 * Replaces an OAuth flow that the gateway does not support by a bearer token (RFC 6750). A person
 * may create the token elsewhere and store it as a secret.
 */
function toBearerScheme(
  source: ImportSource,
  node: DocumentNode,
  commonFields: JsonObject,
): JsonObject {
  const message =
    'Only the authorization code flow with absolute https URLs can be run here; a token made elsewhere can be given as a secret.';
  source.notes.warn('auth_changed', node.path, message);
  return { type: 'http', scheme: 'bearer', ...commonFields };
}

function convertApiKey(scheme: JsonObject, commonFields: JsonObject): JsonObject | string {
  const name = textAt(scheme, 'name') ?? '';
  const location = scheme['in'];
  if (!isCredentialPlace(location)) return `its "in" is not ${credentialPlaceList}`;
  // AWS signs each request separately, so a constant value from a secret would not work.
  if (/^awsSigv4$/i.test(textAt(scheme, 'x-amazon-apigateway-authtype') ?? '')) {
    return 'requests would have to be signed';
  }
  if (name === '' || name.length > 200 || !/^[\x21-\x7e]+$/.test(name))
    return 'its name cannot be used';
  if (refusalOfCredentialName(location, name) !== undefined) {
    return `a credential cannot go into the ${credentialPlaces[location].displayName} "${name}"`;
  }
  return { type: 'apiKey', in: location, name, ...commonFields };
}

function convertFlow(flowObject: JsonObject): JsonObject | undefined {
  const flow = objectAt(objectAt(flowObject, 'flows'), 'authorizationCode');
  const authorizationUrl = toHttpsEndpoint(flow['authorizationUrl']);
  const tokenUrl = toHttpsEndpoint(flow['tokenUrl']);
  if (authorizationUrl === undefined || tokenUrl === undefined) return undefined;
  const scopes = Object.entries(objectAt(flow, 'scopes'))
    .filter(([scope]) => isScopeName(scope))
    .slice(0, scopesMax)
    .map(([scope, text]) => [scope, typeof text === 'string' ? shortenText(text, 500) : '']);
  const { provider, ...addresses } = findProvider({ authorizationUrl, tokenUrl });
  return {
    'x-service-provider': provider,
    flows: { authorizationCode: { ...addresses, scopes: Object.fromEntries(scopes) } },
  };
}

function isScopeName(scope: string): boolean {
  return scope !== '' && scope.length <= 300 && !isUnsafeName(scope);
}

function toHttpsEndpoint(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'string' || value.length > 2000 || !URL.canParse(value)) return undefined;
  const url = new URL(value);
  return url.protocol === 'https:' && url.username === '' && url.hash === '' ? value : undefined;
}

interface OAuthAddresses {
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
}

/**
 * Finds the provider of an OAuth scheme. A built-in provider is recognised by the host where people
 * sign in; its current URLs replace those of the document, which are often outdated. Any other
 * provider is named after its host (`https://id.acme.com/…` gives `acme`), so that templates with
 * the same host share one provider app.
 */
function findProvider(addresses: OAuthAddresses): OAuthAddresses & { provider: string } {
  const knownProvider = findProviderAt(addresses.authorizationUrl);
  if (knownProvider !== undefined) {
    if (hasProviderUrls(knownProvider.key, addresses))
      return { ...addresses, provider: knownProvider.key };
    const readResult = readVariables(knownProvider, {});
    if ('values' in readResult) {
      const row = fillProvider(knownProvider, { values: readResult.values, clientId: '' });
      const { authorization_url: authorizationUrl, token_url: tokenUrl } = row;
      return { authorizationUrl, tokenUrl, provider: knownProvider.key };
    }
  }
  const labels = new URL(addresses.authorizationUrl).hostname.split('.').slice(0, -1);
  const genericLabel =
    /^(?:www|api|apis|accounts?|auth|oauth2?|login|id|identity|sso|signin|secure|co|com)$/;
  const distinctiveLabels = labels.filter((each) => !genericLabel.test(each));
  const name = toSlug((distinctiveLabels.length > 0 ? distinctiveLabels : labels).join('_'));
  return {
    ...addresses,
    provider: builtInProviders().has(name) ? `${name.slice(0, 57)}_other` : name,
  };
}

/** Turns text into a name for a secret, a provider or a template. */
export function toSlug(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, 63)
    .replace(/_+$/, '');
  return name === '' ? 'imported' : name;
}

function toSnakeCase(text: string): string {
  return text.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2');
}

/**
 * Converts the alternatives in `security`. An alternative is left out when it needs a scheme that
 * the template does not have, or two credentials of which one would replace the other. Undefined when the source has no `security`, or no alternative
 * remains.
 */
export function convertRequirements(
  source: ImportSource,
  { value, path }: DocumentNode<JsonValue | undefined>,
  schemes: Schemes,
): JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const alternatives = value.slice(0, requirementsMax).flatMap((requirement, index) => {
    if (!isObject(requirement)) return [];
    const schemeEntries = Object.entries(requirement);
    if (
      schemeEntries.length > schemesTogetherMax ||
      schemeEntries.some(([name]) => !schemes.has(name))
    )
      return [];
    const collision = findCollision(
      schemeEntries.map(([name]) => credentialTargetOf(schemes.get(name)!)),
    );
    if (collision !== undefined) {
      const message = `Two schemes that are needed together both go into the ${credentialPlaces[collision.in].displayName} "${collision.key}"; the alternative is left out.`;
      source.notes.warn('auth_changed', [...path, index], message);
      return [];
    }
    const requirementEntries = schemeEntries.map(([name, scopes]) => {
      const list = Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [];
      const scopesNode = {
        value: list.filter(isScopeName).slice(0, 100),
        path: [...path, index, name],
      };
      return [name, checkScopes(source, scopesNode, schemes.get(name)!)] as const;
    });
    return [Object.fromEntries(requirementEntries)];
  });
  return alternatives.length === 0 && value.length > 0 ? undefined : alternatives;
}

/** The name of the scheme that puts its credential there; undefined when none does. */
export function findSchemeAt(
  schemes: Schemes,
  location: string | undefined,
  name: string | undefined,
): string | undefined {
  const key = name?.trim().toLowerCase();
  const entry = [...schemes].find(([, scheme]) => {
    const target = credentialTargetOf(scheme);
    return target.in === location && target.key.toLowerCase() === key;
  });
  return entry?.[0];
}

/** Where a converted scheme puts its credential. */
export function credentialTargetOf(scheme: JsonObject): { in: CredentialPlace; key: string } {
  const { in: location, name } = scheme;
  if (scheme['type'] !== 'apiKey' || !isCredentialPlace(location) || typeof name !== 'string') {
    return { in: 'header', key: 'Authorization' };
  }
  return { in: location, key: name };
}

/**
 * Adds to the OAuth scheme the scopes that operations need and the scheme does not list, so that
 * sign-in can ask for them. Returns the scopes that the scheme then lists.
 */
function checkScopes(
  source: ImportSource,
  { value: scopes, path }: DocumentNode<string[]>,
  scheme: JsonObject,
): string[] {
  if (scheme['type'] !== 'oauth2') return [];
  const knownScopes = objectAt(objectAt(objectAt(scheme, 'flows'), 'authorizationCode'), 'scopes');
  const knownScopeCount = Object.keys(knownScopes).length;
  if (knownScopeCount === 0) return scopes;
  return scopes.filter((scope) => {
    if (Object.hasOwn(knownScopes, scope)) return true;
    if (Object.keys(knownScopes).length >= scopesMax) return false;
    knownScopes[scope] = '';
    source.notes.info(
      'scope_added',
      path,
      `The scheme does not list the scope "${scope.slice(0, 200)}"; it was added.`,
    );
    return true;
  });
}
