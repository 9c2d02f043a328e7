import type { AuthMethod } from '#contracts/template';
import { hasProviderUrls } from '#providers';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import type { Path } from './findings.ts';
import { checkFields } from './fields.ts';
import { isHeaderName, isReservedHeader } from './headers.ts';
import { didYouMean } from './nearest.ts';
import { entriesOf, readList, readObject, readText } from './reading.ts';
import { followReference } from './references.ts';

const secretName = /^[a-z][a-z0-9_-]{0,62}$/;

/** Every security scheme of the document as a way of attaching a credential. */
export function compileSecuritySchemes(
  context: Context,
  document: Place<JsonObject>,
): AuthMethod[] {
  const components = readObject(context, document, 'components');
  if (components) checkFields(context, components, 'components');
  const schemes = components && readObject(context, components, 'securitySchemes');
  if (schemes === undefined) return [];
  const entries = entriesOf(schemes);
  if (entries.length > 20) {
    context.findings.error('out_of_bounds', schemes.path, 'Declare at most 20 security schemes.');
    return [];
  }
  return entries.flatMap(([scheme, at]) => {
    const place = followReference(context, at);
    if (place === undefined) return [];
    checkFields(context, place, 'security scheme');
    const method = compileScheme(context, place, scheme.slice(0, 100));
    return method === undefined ? [] : [method];
  });
}

function compileScheme(
  context: Context,
  at: Place<JsonObject>,
  scheme: string,
): AuthMethod | undefined {
  const type = at.value['type'];
  if (type === 'apiKey') return compileApiKey(context, at, scheme);
  if (type === 'http') return compileHttpScheme(context, at, scheme);
  if (type === 'oauth2') return compileOAuth(context, at, scheme);
  const message = '"type" must be apiKey, http or oauth2.';
  context.findings.error('security_scheme_invalid', [...at.path, 'type'], message);
  return undefined;
}

function compileApiKey(
  context: Context,
  at: Place<JsonObject>,
  scheme: string,
): AuthMethod | undefined {
  const { findings } = context;
  const location = at.value['in'];
  const name = readText(context, at, { key: 'name', max: 200, required: true });
  const prefix = readText(context, at, { key: 'x-service-prefix', max: 100 }) ?? '';
  const defaultSecretName = readSecretName(context, at);
  if (location !== 'header' && location !== 'query') {
    findings.error('security_scheme_invalid', [...at.path, 'in'], '"in" must be header or query.');
    return undefined;
  }
  if (name === undefined || defaultSecretName === undefined) return undefined;
  if (
    location === 'header' &&
    (!isHeaderName(name) || (isReservedHeader(name) && !/^authorization$/i.test(name)))
  ) {
    findings.error(
      'header_not_allowed',
      [...at.path, 'name'],
      `A credential cannot go into the header "${name}".`,
    );
    return undefined;
  }
  if (!/^[\x20-\x7e]*$/.test(prefix)) {
    const path = [...at.path, 'x-service-prefix'];
    findings.error(
      'security_scheme_invalid',
      path,
      '"prefix" may hold printable ASCII characters only.',
    );
    return undefined;
  }
  return { type: 'apiKey', scheme, in: location, name, prefix, encoding: 'raw', defaultSecretName };
}

/** `type: http` says the same as an apiKey in the Authorization header, in fewer words. */
function compileHttpScheme(
  context: Context,
  at: Place<JsonObject>,
  scheme: string,
): AuthMethod | undefined {
  const kind = readText(context, at, { key: 'scheme', max: 100 })?.toLowerCase();
  const defaultSecretName = readSecretName(context, at);
  if (kind !== 'bearer' && kind !== 'basic') {
    const message =
      '"scheme" must be bearer or basic. For other schemes use type apiKey with a prefix.';
    context.findings.error('security_scheme_invalid', [...at.path, 'scheme'], message);
    return undefined;
  }
  if (at.value['x-service-prefix'] !== undefined) {
    const path = [...at.path, 'x-service-prefix'];
    const message = `The scheme ${kind} sets the prefix itself. Remove it, or use type apiKey.`;
    context.findings.error('security_scheme_invalid', path, message);
  }
  if (defaultSecretName === undefined) return undefined;
  const basic = kind === 'basic';
  return {
    type: 'apiKey',
    scheme,
    in: 'header',
    name: 'Authorization',
    prefix: basic ? 'Basic ' : 'Bearer ',
    encoding: basic ? 'basic' : 'raw',
    defaultSecretName,
  };
}

function readSecretName(context: Context, at: Place<JsonObject>): string | undefined {
  const key = 'x-service-default-secret-name';
  const name = readText(context, at, { key, max: 63, required: true });
  if (name === undefined || secretName.test(name)) return name;
  const message =
    'A secret\'s name starts with a letter and holds only lower-case letters, digits, "_" and "-".';
  context.findings.error('security_scheme_invalid', [...at.path, key], message);
  return undefined;
}

function compileOAuth(
  context: Context,
  at: Place<JsonObject>,
  scheme: string,
): AuthMethod | undefined {
  const { findings } = context;
  const provider = readText(context, at, { key: 'x-service-provider', max: 63, required: true });
  const flows = readObject(context, at, 'flows');
  const flow = flows && readObject(context, flows, 'authorizationCode');
  if (flow === undefined) {
    const message =
      'Add "flows.authorizationCode" with authorizationUrl and tokenUrl; other flows are not supported.';
    findings.error('security_scheme_invalid', flows?.path ?? at.path, message);
    return undefined;
  }
  checkFields(context, flow, 'flow');
  const authorizationUrl = readEndpoint(context, flow, 'authorizationUrl');
  const tokenUrl = readEndpoint(context, flow, 'tokenUrl');
  const scopes = Object.keys(readObject(context, flow, 'scopes')?.value ?? {});
  if (scopes.length > 500 || scopes.some((scope) => scope.length > 300)) {
    findings.error(
      'out_of_bounds',
      [...flow.path, 'scopes'],
      'List at most 500 scopes of at most 300 characters.',
    );
    return undefined;
  }
  if (provider !== undefined && !secretName.test(provider)) {
    const message =
      'A provider key starts with a letter and holds only lower-case letters, digits, "_" and "-".';
    findings.error('security_scheme_invalid', [...at.path, 'x-service-provider'], message);
    return undefined;
  }
  if (provider === undefined || authorizationUrl === undefined || tokenUrl === undefined)
    return undefined;
  if (!hasProviderUrls(provider, { authorizationUrl, tokenUrl })) {
    const message = `"${provider}" is a built-in provider with other addresses. Use those of oauth-providers/${provider}.yaml, or name another provider.`;
    findings.error('provider_url_mismatch', flow.path, message);
  }
  return { type: 'oauth2', scheme, provider, authorizationUrl, tokenUrl, scopes };
}

function readEndpoint(context: Context, flow: Place<JsonObject>, key: string): string | undefined {
  const url = readText(context, flow, { key, max: 2000, required: true });
  if (url === undefined) return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isHttp =
    parsed?.protocol === 'http:' && context.options.isPlainHttpAllowed?.(parsed.host) === true;
  if (parsed && (parsed.protocol === 'https:' || isHttp) && !parsed.username && !parsed.hash)
    return url;
  const message = `"${key}" must be an https URL without user and fragment.`;
  context.findings.error('security_scheme_invalid', [...flow.path, key], message);
  return undefined;
}

/** One way of satisfying `security`: these schemes together, with the scopes each must hold. */
export interface Requirement {
  readonly schemes: string[];
  readonly scopes: string[];
}

/** OpenAPI's list of alternatives; null when the object has no `security` at all. */
export function readRequirements(
  context: Context,
  at: Place<JsonObject>,
  methods: readonly AuthMethod[],
): Requirement[] | null {
  if (at.value['security'] === undefined) return null;
  return readList(context, at, { key: 'security', max: 20 }).flatMap(({ value, path }) => {
    if (!isObject(value)) {
      const message = 'Each entry of "security" must be an object such as {token: []}.';
      context.findings.error('wrong_type', path, message);
      return [];
    }
    const named = entriesOf({ value, path });
    const checked = named.map(([scheme, scopes]) =>
      checkRequirement(context, scopes, { scheme, methods }),
    );
    return [{ schemes: named.map(([scheme]) => scheme), scopes: checked.flat() }];
  });
}

function checkRequirement(
  { findings, document }: Context,
  { value, path }: Place,
  { scheme, methods }: { scheme: string; methods: readonly AuthMethod[] },
): string[] {
  const method = methods.find((candidate) => candidate.scheme === scheme);
  if (method === undefined) {
    if (isDeclared(document, scheme)) return [];
    const hint = didYouMean(
      scheme,
      methods.map((candidate) => candidate.scheme),
    );
    const message = `"${scheme}" is not declared under components.securitySchemes.${hint}`;
    findings.error('security_scheme_unknown', path, message);
    return [];
  }
  if (!Array.isArray(value) || !value.every((scope) => typeof scope === 'string')) {
    findings.error(
      'wrong_type',
      path,
      'The scopes of a scheme must be a list of strings, [] for none.',
    );
    return [];
  }
  return method.type === 'oauth2' ? checkScopes(findings, { scopes: value, path, method }) : [];
}

/** A scheme that is declared but wrong has had its own finding. */
function isDeclared(document: JsonObject, scheme: string): boolean {
  const components = document['components'];
  const schemes = isObject(components) ? components['securitySchemes'] : undefined;
  return isObject(schemes) && Object.hasOwn(schemes, scheme);
}

function checkScopes(
  findings: Context['findings'],
  {
    scopes,
    path,
    method,
  }: { scopes: string[]; path: Path; method: AuthMethod & { type: 'oauth2' } },
): string[] {
  const unknown =
    method.scopes.length > 0 ? scopes.filter((scope) => !method.scopes.includes(scope)) : [];
  for (const scope of unknown) {
    const message = `"${scope}" is not among the scopes of "${method.scheme}", so it could never be granted.${didYouMean(scope, method.scopes)}`;
    findings.error('scope_unknown', path, message);
  }
  return scopes;
}
