import type { ServiceRecord } from '#contracts/bus/registry';
import { credentialPlaces, findCollision } from '#contracts/credential-place';
import type { Injection } from '#contracts/permit';
import type { AuthMethod, CompiledAction, CompiledTemplate } from '#contracts/template';
import type { TemplateServer } from '#contracts/template-server';
import { AppError } from '#errors';
import { isSameKind } from '#providers';
import {
  accountAddressOf,
  actionBaseUrl,
  derivationAt,
  isServedAt,
  isServedBy,
  mayDerive,
  scopeNeedsOf,
  serverFor,
  serversOf,
  tokenHostOf,
} from '#templates';
import type { ConnectionDescription, Lookups, Owner, SecretDescription } from '../deps.ts';
import { addressNotGenuineError } from '../services/connected-service.ts';
import { mayGoTo } from '../services/domain/hosts.ts';
import {
  connectionMissingError,
  findConnection,
  injectionOfToken,
  refusalOfConnection,
} from './connections.ts';
import { invalidParamError } from './domain/invalid-params.ts';

interface ServiceCredentials {
  readonly owner: Owner;
  readonly service: ServiceRecord;
  readonly template: CompiledTemplate;
  readonly host: string;
  /**
   * Whether the call needs one more permission key for each credential, such as
   * `secret:{name}:{host}`.
   */
  readonly isKeyed: boolean;
  /** Null for a call by HTTP method and path, for which any active credential is enough. */
  readonly action: CompiledAction | null;
}

type ApiKey = Extract<AuthMethod, { type: 'apiKey' }>;

/**
 * Finds the credentials that a service adds to its requests. A template lists alternatives
 * (OpenAPI's OR of ANDs); the first one is used whose credentials all exist, work, and may go to
 * the host.
 */
export async function findServiceCredentials(
  lookups: Lookups,
  wantedCredentials: ServiceCredentials,
): Promise<Injection[]> {
  const { owner, service, template } = wantedCredentials;
  if (template.security.length === 0) return [];
  const [secrets, connections] = await Promise.all([
    lookups.describeSecrets(owner, referencesOf(service, template)),
    lookups.describeConnections(owner, service.connection === null ? [] : [service.connection]),
  ]);
  const refusals: AppError[] = [];
  for (const schemes of alternativesAt(wantedCredentials)) {
    if (schemes.length === 0) continue;
    const injections = schemes.map((scheme) =>
      injectionFor({ scheme, schemes }, wantedCredentials, { secrets, connections }),
    );
    const refusal =
      injections.find((each) => each instanceof AppError) ??
      refusalOfAlternative(schemes, wantedCredentials);
    if (refusal === undefined)
      return injections.flatMap((each) => (each instanceof AppError ? [] : each));
    refusals.push(refusal);
  }
  // The error about a credential that exists but does not work is reported first, because it helps
  // more than one about a missing credential.
  const refusal = refusals.find(({ code }) => code !== 'credential_missing') ?? refusals.at(-1);
  const isOptional = template.security.some((schemes) => schemes.length === 0);
  if (refusal === undefined || (isOptional && refusal.code === 'credential_missing')) return [];
  throw refusal;
}

/**
 * The alternatives of `security` whose server is at the base URL of the service. Policy does not
 * trust the registry to say which credential goes to which server. If an admin gave the base URL,
 * all alternatives are possible.
 */
function alternativesAt({ service, template }: ServiceCredentials): readonly (readonly string[])[] {
  const alternatives = alternativesOf(service, template);
  if (template.servers === undefined) return alternatives;
  const isAt = (server: TemplateServer | undefined) =>
    server !== undefined && isServedAt(server, service.baseUrl);
  if (!serversOf(template).some(isAt)) return alternatives;
  const alternativesThere = alternatives.filter((schemes) => isAt(serverFor(template, schemes)));
  if (alternativesThere.length === 0) throw addressNotGenuineError(service.name, service.baseUrl);
  return alternativesThere;
}

/**
 * The alternative of `security` by which the service was connected. Returns all alternatives if no
 * alternative is recorded, or if the service no longer has the credentials of the recorded one: an
 * earlier release does not keep the record and may have changed the credentials.
 */
function alternativesOf(
  { schemes: recorded, secrets, connection }: ServiceRecord,
  { security, auth }: CompiledTemplate,
): readonly (readonly string[])[] {
  if (recorded === undefined) return security;
  const namesOf = ({ scheme, type }: AuthMethod) =>
    type === 'oauth2' ? connection !== null : secrets[scheme] !== undefined;
  const isNamed = recorded.every((scheme) =>
    auth.some((method) => method.scheme === scheme && namesOf(method)),
  );
  const way = security.find((schemes) => schemes.join(' ') === recorded.join(' '));
  return way === undefined || !isNamed ? security : [way];
}

function injectionFor(
  { scheme, schemes }: { scheme: string; schemes: readonly string[] },
  { service, template, host, isKeyed, action }: ServiceCredentials,
  descriptions: {
    secrets: readonly SecretDescription[];
    connections: readonly ConnectionDescription[];
  },
): Injection | AppError {
  const method = template.auth.find((each) => each.scheme === scheme);
  if (method?.type === 'oauth2') {
    const { connection: reference } = service;
    const connection =
      reference === null ? undefined : findConnection(descriptions.connections, reference);
    if (connection?.provider !== method.provider || !isSameKind(connection.actsAs, method.actsAs)) {
      const isStored = connection !== undefined;
      return connectionMissingError(reference ?? method.provider, {
        service: service.name,
        ...(isStored ? {} : { template: template.key }),
      });
    }
    const scopeNeeds = action === null ? [] : scopeNeedsOf(action, { schemes, scheme });
    const isAddressOfAccount = accountAddressOf(serverFor(template, schemes)) !== undefined;
    const refusal = refusalOfConnection(connection, {
      host,
      url: baseUrlOf({ service, template, action }),
      ofAccount: isAddressOfAccount ? { template: template.key } : undefined,
      scopeNeeds: scopeNeeds ?? [],
    });
    return refusal ?? injectionOfToken(connection);
  }
  const reference = service.secrets[scheme];
  const secret = reference === undefined ? undefined : findSecret(descriptions.secrets, reference);
  if (method === undefined || secret === undefined) {
    const wanted = reference ?? method?.defaultSecretName ?? 'unknown';
    return missingCredentialError(
      wanted,
      service.name,
      templateToRequestWith(template, method, wanted),
    );
  }
  if (!mayDerive(template, method, secret.reference)) {
    return derivationRefusedError(secret.reference, template.key);
  }
  if (!mayGoTo(secret, host, { isKeyed })) return hostRefusedError(secret.reference, host);
  const injection = injectionOf(method, secret, {
    baseUrl: service.baseUrl,
    server: serverFor(template, schemes) ?? null,
  });
  const tokenHost = tokenHostOf(injection.derivation);
  const isAtService = tokenHost === null || tokenHost === host;
  // No permission key names the host that gives out tokens, so the secret's own list of hosts must
  // contain that host.
  return isAtService || mayGoTo(secret, tokenHost, { isKeyed: false })
    ? injection
    : hostRefusedError(secret.reference, tokenHost);
}

/** The base URL to which the call goes. */
function baseUrlOf({
  service: { baseUrl },
  template,
  action,
}: Pick<ServiceCredentials, 'service' | 'template' | 'action'>): string {
  return (action && actionBaseUrl(template, action, baseUrl)) ?? baseUrl;
}

/**
 * The error if the action cannot be called with the credentials by which the service is connected,
 * such as a search with a bot's token; otherwise undefined.
 */
function refusalOfAlternative(
  schemes: readonly string[],
  { action, service, template }: ServiceCredentials,
): AppError | undefined {
  if (action === null || isServedBy(action, schemes)) return undefined;
  const usableAlternatives = template.security.filter((each) => isServedBy(action, each));
  const connectAs = usableAlternatives.map((each) => each.join('+'));
  const wordsOf = (each: readonly string[]) =>
    each.map((scheme) => labelOf(template, scheme)).join(' and ');
  const way =
    usableAlternatives.length === 0
      ? 'in another way'
      : `by ${usableAlternatives.map(wordsOf).join(' or ')}`;
  return new AppError(
    'missing_scopes',
    `The service ${service.name} is connected by ${wordsOf(schemes)}, with which ${action.key} cannot be called. Connect ${template.key} ${way} as a service of another name, and call that one.`,
    { details: { connect_as: connectAs, template: template.key, action: action.key } },
  );
}

function labelOf({ auth }: CompiledTemplate, scheme: string): string {
  const label = auth.find((method) => method.scheme === scheme)?.label;
  return label === undefined ? `"${scheme}"` : `"${label}"`;
}

const injectionsMax = 10;

/**
 * Throws when two credentials go to the same part of the request, such as one header, where one
 * credential would overwrite the other.
 */
export function checkPlaces(injections: readonly Injection[]): void {
  if (injections.length > injectionsMax) {
    throw invalidParamError('secrets', `with the service's own may be at most ${injectionsMax}`);
  }
  const collidingInjection = findCollision(injections);
  if (collidingInjection === undefined) return;
  const { displayName: words } = credentialPlaces[collidingInjection.in];
  throw invalidParamError(
    'secrets',
    `would put two credentials into the ${words} "${collidingInjection.key}"`,
  );
}

export function findSecret(
  secretDescriptions: readonly SecretDescription[],
  reference: string,
): SecretDescription | undefined {
  return secretDescriptions.find(({ asked }) => asked === reference);
}

function referencesOf(service: ServiceRecord, template: CompiledTemplate): string[] {
  const schemes = new Set(template.security.flat());
  const references = Object.entries(service.secrets)
    .filter(([scheme]) => schemes.has(scheme))
    .map(([, reference]) => reference);
  return [...new Set(references)].slice(0, 20);
}

function injectionOf(
  method: ApiKey,
  secret: SecretDescription,
  { baseUrl, server }: { baseUrl: string; server: CompiledTemplate['server'] },
): Injection {
  const { derivation } = method;
  return {
    ...(derivation === undefined ? {} : { derivation: derivationAt(derivation, baseUrl, server) }),
    kind: 'secret',
    credentialId: secret.id,
    credentialName: secret.reference,
    in: method.in,
    key: method.name,
    prefix: method.prefix,
    encoding: method.encoding,
  };
}

/**
 * The template that a request for the secret must name, so that the page of the request asks for
 * each part of the secret. Undefined for a secret without parts, and where such a request would be
 * refused.
 */
function templateToRequestWith(
  { key, tier, auth }: CompiledTemplate,
  method: ApiKey | undefined,
  secret: string,
): string | undefined {
  if (method?.parts === undefined) return undefined;
  if (tier === 'user' && secret.startsWith('org/')) return undefined;
  const isNamed = secret.replace(/^org\//, '') === method.defaultSecretName;
  const isOnly = auth.filter(({ type }) => type === 'apiKey').length === 1;
  return isNamed || isOnly ? key : undefined;
}

export function missingCredentialError(
  secret: string,
  service: string | null,
  template?: string,
): AppError {
  const subject = service === null ? 'The call' : `The service ${service}`;
  return new AppError(
    'credential_missing',
    `${subject} needs the secret "${secret}". Store it, or ask a person for it (POST /v1/secrets/requests, in MCP request_secret), then call again.`,
    { details: { secret, stored: false, ...(template === undefined ? {} : { template }) } },
  );
}

function derivationRefusedError(secret: string, template: string): AppError {
  return new AppError(
    'forbidden',
    `The template ${template} is a member's own, and only built-in and published templates say how the org's secret "${secret}" is used. Ask an admin to publish the template, or connect it with a secret of your own.`,
    { details: { secret } },
  );
}

export function hostRefusedError(secret: string, host: string): AppError {
  return new AppError(
    'host_not_allowed',
    `The secret "${secret}" may not be sent to ${host}. Its owner can add the host to it.`,
    { details: { secret, host } },
  );
}
