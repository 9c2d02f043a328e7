import type { CredentialPart, TokenDerivation } from '#contracts/credential-derivation';
import type { AuthMethod } from '#contracts/template';
import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { entryNodesOf, readObject, readText } from '../../document/domain/reading.ts';
import { refusalOfCredentialName } from './credential-name.ts';
import {
  checkPlaceholders,
  compileParts,
  partsField,
  placeholder,
  readChoice,
  readGrant,
  refuseScheme,
} from './credential-parts.ts';
import { readSecretName } from './secret-name.ts';

type SecretMethod = Extract<AuthMethod, { type: 'apiKey' }>;
type DerivationKind = TokenDerivation['kind'];
type DerivedFields = Pick<SecretMethod, 'parts' | 'derivation'>;

/**
 * The names of the parts that each kind of grant needs. The parts under `secret` are always secret.
 */
const neededPartsByKind: Record<
  DerivationKind,
  { plain: readonly string[]; secret: readonly string[] }
> = {
  client_credentials: { plain: ['client_id'], secret: ['client_secret'] },
  jwt_bearer: { plain: [], secret: ['private_key'] },
  github_app: { plain: ['app_id'], secret: ['private_key'] },
};
const tokenKinds = ['client_credentials', 'jwt_bearer', 'github_app'] as const;
const clientAuthentications = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const;
/**
 * Compiles a scheme of `type: oauth2` with the flow `clientCredentials`. Its secret has several
 * parts, with which the executor gets tokens.
 */
export function compileGrant(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  scheme: string,
): AuthMethod | undefined {
  const defaultSecretName = readSecretName(context, node);
  const derivedFields = compileTokenGrant(context, node);
  if (defaultSecretName === undefined || derivedFields === undefined) return undefined;
  const tokenPlace = readPlace(context, node);
  return (
    tokenPlace && {
      type: 'apiKey',
      scheme,
      ...tokenPlace,
      encoding: 'derived',
      defaultSecretName,
      ...derivedFields,
    }
  );
}

/** Where calls send the token: in `Authorization` as a bearer token, or alone in another header. */
function readPlace(context: CompileContext, node: DocumentNode<JsonObject>) {
  const grant = readObject(context, node, 'x-service-grant');
  const name = grant && readText(context, grant, { key: 'header', max: 200 });
  if (name === undefined)
    return { in: 'header', name: 'Authorization', prefix: 'Bearer ' } as const;
  const refusal = refusalOfCredentialName('header', name);
  if (refusal === undefined) return { in: 'header', name, prefix: '' } as const;
  const message = `A token cannot go into the header "${name}": it ${refusal}.`;
  context.findings.error(
    'header_not_allowed',
    [...node.path, 'x-service-grant', 'header'],
    message,
  );
  return undefined;
}

/**
 * Reports the fields `parts` and `grant` on a scheme that sends its secret unchanged, where they
 * would have no effect.
 */
export function refuseParts(context: CompileContext, node: DocumentNode<JsonObject>): void {
  for (const key of ['x-service-parts', 'x-service-grant']) {
    if (node.value[key] === undefined) continue;
    const message = `"${key.slice('x-service-'.length)}" goes with type oauth2 and flows.clientCredentials, or with type apiKey and a grant of type aws_sigv4, only.`;
    refuseScheme(context, { path: [...node.path, key], value: null }, message);
  }
}

function compileTokenGrant(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): DerivedFields | undefined {
  const flows = readObject(context, node, 'flows');
  const flow = flows && readObject(context, flows, 'clientCredentials');
  if (flow === undefined) return undefined;
  checkFields(context, flow, 'flow');
  const grant = readGrant(context, node);
  if (grant === undefined) return undefined;
  const kind = readChoice(context, grant, {
    key: 'type',
    choices: tokenKinds,
    otherwise: 'client_credentials',
  });
  const authentication = readChoice(context, grant, {
    key: 'client_authentication',
    choices: clientAuthentications,
    otherwise: 'client_secret_basic',
  });
  const body = readChoice(context, grant, {
    key: 'request',
    choices: ['form', 'json'],
    otherwise: 'form',
  });
  const tokenUrl = readTokenUrl(context, flow);
  const scopes = Object.keys(readObject(context, flow, 'scopes')?.value ?? {});
  if (kind === undefined || authentication === undefined || body === undefined) return undefined;
  const neededParts =
    authentication === 'private_key_jwt'
      ? { plain: ['client_id'], secret: ['private_key'] }
      : neededPartsByKind[kind];
  const parts = compileParts(context, node, neededParts);
  if (parts === undefined || tokenUrl === undefined) return undefined;
  const parameters = readTextMap(context, grant, 'parameters');
  const texts = {
    issuer: readText(context, grant, { key: 'issuer', max: 2000, required: kind === 'jwt_bearer' }),
    audience: readText(context, grant, {
      key: 'audience',
      max: 2000,
      required: kind === 'jwt_bearer',
    }),
    subject: readText(context, grant, { key: 'subject', max: 2000 }),
  };
  const filledTexts = [tokenUrl, ...Object.values(parameters), ...Object.values(texts)];
  const knownNames = ['origin', ...parts.map(({ name }) => name)];
  if (!checkPlaceholders(context, grant, { texts: filledTexts, knownNames })) return undefined;
  refuseSecretsInUrl(context, flow, { tokenUrl, parts });
  const commonFields = { ...partsField(parts), tokenUrl, parameters, body, scopes };
  const derivation = buildDerivation(kind, { common: commonFields, authentication, texts });
  if (derivation === undefined) return undefined;
  return isWithinSize(context, grant, derivation) ? { parts, derivation } : undefined;
}

type CommonDerivation = Omit<Extract<TokenDerivation, { kind: 'github_app' }>, 'kind'>;

function buildDerivation(
  kind: DerivationKind,
  {
    common,
    authentication,
    texts: { issuer, audience, subject },
  }: {
    common: CommonDerivation;
    authentication: (typeof clientAuthentications)[number];
    texts: Record<'issuer' | 'audience' | 'subject', string | undefined>;
  },
): TokenDerivation | undefined {
  if (kind === 'client_credentials') return { kind, ...common, authentication };
  if (kind === 'github_app') return { kind, ...common };
  if (issuer === undefined || audience === undefined) return undefined;
  return { kind, ...common, issuer, audience, subject: subject ?? null };
}

/** Every permit holds the derivations of its credentials, and is at most 64 KiB long. */
const derivationCharactersMax = 8_000;

function isWithinSize(
  { findings }: CompileContext,
  { path }: DocumentNode,
  derivation: TokenDerivation,
): boolean {
  if (JSON.stringify(derivation).length <= derivationCharactersMax) return true;
  const message = `Shorten the scheme: its scopes, parameters and texts may have ${derivationCharactersMax} characters together.`;
  findings.error('out_of_bounds', path, message);
  return false;
}

/**
 * Reports secret parts in the token URL, because proxies and the provider write paths to their
 * logs.
 */
function refuseSecretsInUrl(
  context: CompileContext,
  flow: DocumentNode,
  { tokenUrl, parts }: { tokenUrl: string; parts: readonly CredentialPart[] },
): void {
  const partInUrl = parts.find(({ name, secret }) => secret && tokenUrl.includes(`{${name}}`));
  if (partInUrl === undefined) return;
  const message = `{${partInUrl.name}} is secret, and secrets do not go into a URL. Put it under "parameters" of the grant.`;
  refuseScheme(context, { path: [...flow.path, 'tokenUrl'], value: null }, message);
}

/**
 * Reads the token URL. It is absolute and https, or relative to the address of the service.
 * `{part}` may be a segment of the path.
 */
function readTokenUrl(context: CompileContext, flow: DocumentNode<JsonObject>): string | undefined {
  const url = readText(context, flow, { key: 'tokenUrl', max: 2000, required: true });
  if (url === undefined) return undefined;
  const isRelative = /^\/?[\w.~-]+(\/|\{|$)/.test(url) && !url.includes(':');
  const address = isRelative ? `https://service.invalid/${url.replace(/^\//, '')}` : url;
  const parsedUrl = URL.parse(address.replaceAll(placeholder, 'x'));
  const isPlainHttp =
    parsedUrl?.protocol === 'http:' &&
    context.options.isPlainHttpAllowed?.(parsedUrl.host) === true;
  const isUsableUrl =
    parsedUrl !== null &&
    (parsedUrl.protocol === 'https:' || isPlainHttp) &&
    parsedUrl.username === '' &&
    /^https?:\/\/[^/{}@\\]+(\/(?:[\w.~-]+|\{[a-z][a-z0-9_]*\}))*\/?$/.test(address) &&
    !/\/\.\.?(\/|$)/.test(address);
  if (isUsableUrl) return url;
  const message =
    '"tokenUrl" must be an https URL without query, or a path at the service such as /oauth/token. {part} may stand for whole segments of the path.';
  context.findings.error('security_scheme_invalid', [...flow.path, 'tokenUrl'], message);
  return undefined;
}

function readTextMap(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  key: string,
): Record<string, string> {
  const texts = readObject(context, node, key);
  if (texts === undefined) return {};
  const values = entryNodesOf(texts).map(([name]) => [
    name,
    readText(context, texts, { key: name, max: 2000, required: true }) ?? '',
  ]);
  return Object.fromEntries(values) as Record<string, string>;
}
