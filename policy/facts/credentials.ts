import type { ServiceRecord } from '#contracts/bus/registry';
import type { HttpCall } from '#contracts/call';
import type { Injection } from '#contracts/permit';
import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { mayGoTo } from '../domain/hosts.ts';
import { invalidParam } from '../domain/invalid-call.ts';
import type {
  ConnectionDescription,
  Lookups,
  Owner,
  SecretDescription,
} from '../lookups/lookups.ts';
import {
  connectionMissing,
  findConnection,
  injectionOfToken,
  refusalOfConnection,
} from './connections.ts';

interface ServiceCredentials {
  readonly owner: Owner;
  readonly service: ServiceRecord;
  readonly template: CompiledTemplate;
  readonly host: string;
  /** The call needs a key of its own for each of them, which names the host. */
  readonly isKeyed: boolean;
  /** OAuth scopes that the action needs; null: none beyond an active connection. */
  readonly minimumScopes: readonly string[] | null;
}

type ApiKey = Extract<AuthMethod, { type: 'apiKey' }>;

/**
 * The credentials that a service puts on its requests: the first of the template's alternatives
 * (OpenAPI's OR of ANDs) for which each of them is there, works, and may go to the host.
 */
export async function findServiceCredentials(
  lookups: Lookups,
  wanted: ServiceCredentials,
): Promise<Injection[]> {
  const { owner, service, template } = wanted;
  if (template.security.length === 0) return [];
  const [secrets, connections] = await Promise.all([
    lookups.describeSecrets(owner, referencesOf(service, template)),
    lookups.describeConnections(owner, service.connection === null ? [] : [service.connection]),
  ]);
  const refusals: AppError[] = [];
  for (const schemes of template.security) {
    if (schemes.length === 0) continue;
    const injections = schemes.map((scheme) =>
      injectionFor(scheme, wanted, { secrets, connections }),
    );
    const refusal = injections.find((each) => each instanceof AppError);
    if (refusal === undefined)
      return injections.flatMap((each) => (each instanceof AppError ? [] : each));
    refusals.push(refusal);
  }
  // What is wrong with a credential that is there says more than that another one is missing.
  const refusal = refusals.find(({ code }) => code !== 'credential_missing') ?? refusals.at(-1);
  const isOptional = template.security.some((schemes) => schemes.length === 0);
  if (refusal === undefined || (isOptional && refusal.code === 'credential_missing')) return [];
  throw refusal;
}

function injectionFor(
  scheme: string,
  { service, template, host, isKeyed, minimumScopes }: ServiceCredentials,
  known: { secrets: readonly SecretDescription[]; connections: readonly ConnectionDescription[] },
): Injection | AppError {
  const method = template.auth.find((each) => each.scheme === scheme);
  if (method?.type === 'oauth2') {
    const { connection: reference } = service;
    const connection =
      reference === null ? undefined : findConnection(known.connections, reference);
    if (connection?.provider !== method.provider) {
      return connectionMissing(reference ?? method.provider, service.name);
    }
    const refusal = refusalOfConnection(connection, { host, minimumScopes });
    return refusal ?? injectionOfToken(connection);
  }
  const reference = service.secrets[scheme];
  const secret = reference === undefined ? undefined : findSecret(known.secrets, reference);
  if (method === undefined || secret === undefined) {
    return missing(reference ?? method?.defaultSecretName ?? 'unknown', service.name);
  }
  if (!mayGoTo(secret, host, { isKeyed })) return hostRefused(secret.reference, host);
  return injectionOf(method, secret);
}

/** The secrets that a verb or raw call asks for itself. */
export async function findCallSecrets(
  lookups: Lookups,
  { owner, secrets, host }: { owner: Owner; secrets: HttpCall['secrets']; host: string },
): Promise<Injection[]> {
  const names = [...new Set(secrets.map(({ name }) => name))];
  const known = await lookups.describeSecrets(owner, names);
  return secrets.map(({ name, in: place, key, prefix }) => {
    const secret = findSecret(known, name);
    if (secret === undefined) throw missing(name, null);
    if (!mayGoTo(secret, host, { isKeyed: true })) throw hostRefused(secret.reference, host);
    return {
      kind: 'secret',
      credentialId: secret.id,
      credentialName: secret.reference,
      in: place,
      key,
      prefix: prefix ?? '',
      encoding: 'raw',
    };
  });
}

const injectionsMax = 10;

/** Two credentials in one place would overwrite each other. */
export function checkPlaces(injections: readonly Injection[]): void {
  if (injections.length > injectionsMax) {
    throw invalidParam('secrets', `with the service's own may be at most ${injectionsMax}`);
  }
  const places = new Set<string>();
  for (const { in: place, key } of injections) {
    const name = `${place} ${key.toLowerCase()}`;
    if (places.has(name)) {
      throw invalidParam('secrets', `would put two credentials into the ${place} "${key}"`);
    }
    places.add(name);
  }
}

export function findSecret(
  known: readonly SecretDescription[],
  reference: string,
): SecretDescription | undefined {
  return known.find(({ asked }) => asked === reference);
}

function referencesOf(service: ServiceRecord, template: CompiledTemplate): string[] {
  const schemes = new Set(template.security.flat());
  const references = Object.entries(service.secrets)
    .filter(([scheme]) => schemes.has(scheme))
    .map(([, reference]) => reference);
  return [...new Set(references)].slice(0, 20);
}

function injectionOf(method: ApiKey, secret: SecretDescription): Injection {
  return {
    kind: 'secret',
    credentialId: secret.id,
    credentialName: secret.reference,
    in: method.in,
    key: method.name,
    prefix: method.prefix,
    encoding: method.encoding,
  };
}

function missing(secret: string, service: string | null): AppError {
  const whose = service === null ? 'The call' : `The service ${service}`;
  return new AppError(
    'credential_missing',
    `${whose} needs the secret "${secret}". Store it, or ask a person for it (POST /v1/secrets/requests, in MCP request_secret), then call again.`,
    { details: { secret } },
  );
}

function hostRefused(secret: string, host: string): AppError {
  return new AppError(
    'host_not_allowed',
    `The secret "${secret}" may not be sent to ${host}. Its owner can add the host to it.`,
    { details: { secret, host } },
  );
}
