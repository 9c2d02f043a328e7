import {
  credentialPlaceList,
  credentialPlaces,
  isCredentialPlace,
} from '#contracts/credential-place';
import { tokenActor } from '#contracts/oauth-provider';
import type { AuthMethod } from '#contracts/template';
import { hasProviderUrls, scopeRowOf, tokenKindOf } from '#providers';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { compileSignature, isSignature } from './aws-signature.ts';
import { refusalOfCredentialName } from './credential-name.ts';
import { compileGrant, refuseParts } from './derived-credential.ts';
import { entryNodesOf, readObject, readText } from '../../document/domain/reading.ts';
import { followReference } from '../../document/domain/references.ts';
import { readSecretName, secretNamePattern } from './secret-name.ts';

/** The most characters of a description that people see beside a field. */
const hintCharactersMax = 300;

/**
 * Compiles each security scheme of the document to an auth method: how calls send the credential.
 */
export function compileSecuritySchemes(
  context: CompileContext,
  document: DocumentNode<JsonObject>,
): AuthMethod[] {
  const components = readObject(context, document, 'components');
  if (components) checkFields(context, components, 'components');
  const schemes = components && readObject(context, components, 'securitySchemes');
  if (schemes === undefined) return [];
  const entries = entryNodesOf(schemes);
  if (entries.length > 20) {
    context.findings.error('out_of_bounds', schemes.path, 'Declare at most 20 security schemes.');
    return [];
  }
  const variables = variablesOf(document);
  return entries.flatMap(([scheme, at]) => {
    const schemeNode = followReference(context, at);
    if (schemeNode === undefined) return [];
    checkFields(context, schemeNode, 'security scheme');
    const words = readShownFields(context, schemeNode);
    const method = compileScheme(context, schemeNode, { scheme: scheme.slice(0, 100), variables });
    if (method === undefined) return [];
    if (method.type === 'oauth2') checkTokenKind(context, schemeNode, { ...method, ...words });
    return [{ ...method, ...words }];
  });
}

/** The names of the server's variables; what they are is read with the servers. */
function variablesOf({ value }: DocumentNode<JsonObject>): string[] {
  const [server] = Array.isArray(value['servers']) ? value['servers'] : [];
  const variables = isObject(server) ? server['variables'] : undefined;
  return isObject(variables) ? Object.keys(variables) : [];
}

/** Reads the fields that people see when they choose a way to connect. */
function readShownFields(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): Pick<AuthMethod, 'label' | 'description' | 'actsAs'> {
  const label = readText(context, node, { key: 'x-service-label', max: 100 });
  const kind = readText(context, node, { key: 'x-service-acts-as', max: 10 });
  const parsedKind = tokenActor.safeParse(kind);
  if (kind !== undefined && !parsedKind.success) {
    const message = `"acts_as" must be ${tokenActor.options.join(', ')}.`;
    const path = [...node.path, 'x-service-acts-as'];
    context.findings.error('security_scheme_invalid', path, message);
  }
  const description = toHint(node.value['description']);
  return {
    ...(label === undefined ? {} : { label }),
    ...(description === undefined ? {} : { description }),
    ...(parsedKind.success ? { actsAs: parsedKind.data } : {}),
  };
}

/**
 * Reads a description that is short enough to show beside an input field; undefined for the long
 * texts with headings and tables that documents of APIs often have.
 */
function toHint(description: unknown): string | undefined {
  if (typeof description !== 'string') return undefined;
  const hint = description.trim();
  return hint === '' || hint.length > hintCharactersMax || hint.includes('\n') ? undefined : hint;
}

/**
 * Reports scopes that the provider grants only to another kind of token. That is an error if the
 * scheme states whom its token acts as. Otherwise it is a warning, because documents of providers,
 * and so imported ones, list the scopes of all kinds of tokens in one scheme.
 */
function checkTokenKind(
  { findings }: CompileContext,
  { path }: DocumentNode,
  { provider, scopes, actsAs: statedKind }: AuthMethod & { type: 'oauth2' },
): void {
  const kind = statedKind ?? 'user';
  const row = scopeRowOf(provider);
  for (const scope of scopes) {
    const grantedKind = tokenKindOf(row, scope);
    if (grantedKind === undefined || grantedKind === kind) continue;
    const message = `"${scope}" is never granted to a token that acts as ${kind}, only as ${grantedKind}. Remove it here.`;
    const at = [...path, 'flows', 'authorizationCode', 'scopes', scope];
    if (statedKind === undefined) findings.warn('scope_unknown', at, message);
    else findings.error('scope_unknown', at, message);
  }
}

function compileScheme(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  { scheme, variables }: { scheme: string; variables: readonly string[] },
): AuthMethod | undefined {
  const type = node.value['type'];
  if (type === 'oauth2') {
    const flows = isObject(node.value['flows']) ? node.value['flows'] : {};
    const isGrant = !('authorizationCode' in flows) && isObject(flows['clientCredentials']);
    if (isGrant) return compileGrant(context, node, scheme);
  }
  if (isSignature(node)) return compileSignature(context, node, { scheme, variables });
  refuseParts(context, node);
  if (type === 'apiKey') return compileApiKey(context, node, scheme);
  if (type === 'http') return compileHttpScheme(context, node, scheme);
  if (type === 'oauth2') return compileOAuth(context, node, scheme);
  const message = '"type" must be apiKey, http or oauth2.';
  context.findings.error('security_scheme_invalid', [...node.path, 'type'], message);
  return undefined;
}

function compileApiKey(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  scheme: string,
): AuthMethod | undefined {
  const { findings } = context;
  const location = node.value['in'];
  const name = readText(context, node, { key: 'name', max: 200, required: true });
  const prefix = readText(context, node, { key: 'x-service-prefix', max: 100 }) ?? '';
  const defaultSecretName = readSecretName(context, node);
  if (!isCredentialPlace(location)) {
    const message = `"in" must be ${credentialPlaceList}.`;
    findings.error('security_scheme_invalid', [...node.path, 'in'], message);
    return undefined;
  }
  if (name === undefined || defaultSecretName === undefined) return undefined;
  const { displayName: words, refusalOfText } = credentialPlaces[location];
  const refusalOfName = refusalOfCredentialName(location, name);
  if (refusalOfName !== undefined) {
    const code = location === 'header' ? 'header_not_allowed' : 'security_scheme_invalid';
    const message = `A credential cannot go into the ${words} "${name}": it ${refusalOfName}.`;
    findings.error(code, [...node.path, 'name'], message);
    return undefined;
  }
  const refusal = refusalOfText(prefix);
  if (refusal !== undefined) {
    const path = [...node.path, 'x-service-prefix'];
    findings.error('security_scheme_invalid', path, `"prefix" ${refusal}.`);
    return undefined;
  }
  return { type: 'apiKey', scheme, in: location, name, prefix, encoding: 'raw', defaultSecretName };
}

/**
 * Compiles a scheme of `type: http`, which is an API key in the Authorization header with a prefix.
 */
function compileHttpScheme(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  scheme: string,
): AuthMethod | undefined {
  const kind = readText(context, node, { key: 'scheme', max: 100 })?.toLowerCase();
  const defaultSecretName = readSecretName(context, node);
  if (kind !== 'bearer' && kind !== 'basic') {
    const message =
      '"scheme" must be bearer or basic. For other schemes use type apiKey with a prefix.';
    context.findings.error('security_scheme_invalid', [...node.path, 'scheme'], message);
    return undefined;
  }
  if (node.value['x-service-prefix'] !== undefined) {
    const path = [...node.path, 'x-service-prefix'];
    const message = `The scheme ${kind} sets the prefix itself. Remove it, or use type apiKey.`;
    context.findings.error('security_scheme_invalid', path, message);
  }
  if (defaultSecretName === undefined) return undefined;
  const isBasic = kind === 'basic';
  return {
    type: 'apiKey',
    scheme,
    in: 'header',
    name: 'Authorization',
    prefix: isBasic ? 'Basic ' : 'Bearer ',
    encoding: isBasic ? 'basic' : 'raw',
    defaultSecretName,
  };
}

function compileOAuth(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  scheme: string,
): AuthMethod | undefined {
  const { findings } = context;
  const provider = readText(context, node, { key: 'x-service-provider', max: 63, required: true });
  const flows = readObject(context, node, 'flows');
  const flow = flows && readObject(context, flows, 'authorizationCode');
  if (flow === undefined) {
    const message =
      'Add "flows.authorizationCode" with authorizationUrl and tokenUrl, or "flows.clientCredentials" with tokenUrl; other flows are not supported.';
    findings.error('security_scheme_invalid', flows?.path ?? node.path, message);
    return undefined;
  }
  checkFields(context, flow, 'flow');
  const authorizationUrl = readEndpoint(context, flow, 'authorizationUrl');
  const tokenUrl = readEndpoint(context, flow, 'tokenUrl');
  const describedScopes = readObject(context, flow, 'scopes')?.value ?? {};
  const scopes = Object.keys(describedScopes);
  const words = Object.entries(describedScopes).flatMap(([scope, text]) =>
    typeof text === 'string' && text.trim() !== '' ? [[scope, text.trim().slice(0, 300)]] : [],
  );
  if (scopes.length > 500 || scopes.some((scope) => scope.length > 300)) {
    findings.error(
      'out_of_bounds',
      [...flow.path, 'scopes'],
      'List at most 500 scopes of at most 300 characters.',
    );
    return undefined;
  }
  if (provider !== undefined && !secretNamePattern.test(provider)) {
    const message =
      'A provider key starts with a letter and holds only lower-case letters, digits, "_" and "-".';
    findings.error('security_scheme_invalid', [...node.path, 'x-service-provider'], message);
    return undefined;
  }
  if (provider === undefined || authorizationUrl === undefined || tokenUrl === undefined)
    return undefined;
  if (!hasProviderUrls(provider, { authorizationUrl, tokenUrl })) {
    const message = `"${provider}" is a built-in provider with other addresses. Use those of oauth-providers/${provider}.yaml, or name another provider.`;
    findings.error('provider_url_mismatch', flow.path, message);
  }
  const scopeDescriptions: Record<string, string> = Object.fromEntries(words);
  return {
    type: 'oauth2',
    scheme,
    provider,
    authorizationUrl,
    tokenUrl,
    scopes,
    ...(words.length === 0 ? {} : { scopeWords: scopeDescriptions }),
  };
}

function readEndpoint(
  context: CompileContext,
  flow: DocumentNode<JsonObject>,
  key: string,
): string | undefined {
  const url = readText(context, flow, { key, max: 2000, required: true });
  if (url === undefined) return undefined;
  const parsedUrl = URL.canParse(url) ? new URL(url) : undefined;
  const isHttp =
    parsedUrl?.protocol === 'http:' &&
    context.options.isPlainHttpAllowed?.(parsedUrl.host) === true;
  if (
    parsedUrl &&
    (parsedUrl.protocol === 'https:' || isHttp) &&
    !parsedUrl.username &&
    !parsedUrl.hash
  )
    return url;
  const message = `"${key}" must be an https URL without user and fragment.`;
  context.findings.error('security_scheme_invalid', [...flow.path, key], message);
  return undefined;
}
