import type { Deadline } from '#bus';
import type { AccountPin } from '#contracts/account-value';
import type { TokenActor } from '#contracts/oauth-provider';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { accountAddressOf, mayDerive, serverFor, tokenHostOf } from '#templates';
import { isSameKind } from '#providers';
import type { Deps } from '../deps.ts';
import {
  toReferenceInTier,
  invalidParams,
  listCredentialChoices,
} from './domain/credential-choices.ts';
import type { CredentialChoice, GivenCredentials } from './domain/credential-choices.ts';
import type {
  Credentials,
  ExistingConnection,
  ExistingCredentials,
  ExistingSecret,
} from './domain/credentials.ts';
import { waysWithVariables } from './domain/service-address.ts';
import type { AddressedAccount, ServiceAddress } from './domain/service-address.ts';
import { findCredentials } from './find-credentials.ts';

export interface WantedCredentials {
  readonly caller: Principal;
  readonly template: CompiledTemplate;
  readonly tier: Tier;
  /** The name of the service. */
  readonly name: string;
  /** The values that were given for the variables of the address. */
  readonly variables: Readonly<Record<string, string>>;
  /** The address of a service that is connected in this way. Throws when it has none. */
  readonly addressOf: (way: Way) => ServiceAddress;
  readonly given: GivenCredentials;
  /**
   * Whether the caller itself named the credentials in `given`, for this template and these hosts.
   */
  readonly isNamed: boolean;
}

/** A way to connect the service: an alternative of the template's `security`. */
export interface Way {
  readonly schemes: readonly string[];
  readonly account: AddressedAccount | null;
}

export interface ChosenCredentials extends Credentials {
  readonly schemes: readonly string[];
  readonly address: ServiceAddress;
  /**
   * The chosen credentials that may not yet go to all hosts to which this service would send them.
   * `allowHosts` must allow that before the service is stored.
   */
  readonly toAllow: {
    readonly secrets: readonly HostsToAllow[];
    readonly connections: readonly HostsToAllow[];
  };
}

/** What is wanted, with the hosts of the service in one of its ways. */
interface Placed extends Omit<WantedCredentials, 'variables'>, ServiceAddress {}

interface HostsToAllow {
  readonly reference: string;
  readonly hosts: readonly string[];
  /** Those of the hosts to which the credential could not go before. */
  readonly added: readonly string[];
}

/**
 * Chooses the first alternative whose credentials all exist and may go to the hosts of the service.
 * A credential that the caller names may go there from now on. A credential that only has the name
 * that the template suggests may not: it must already be allowed to go there, or be new while the
 * template is built in. Otherwise a template that replaces another one, or a version with other
 * hosts, would get the credential without a person's consent.
 */
export async function chooseCredentials(
  { executor }: Pick<Deps, 'executor'>,
  wantedCredentials: WantedCredentials,
  deadline: Deadline,
): Promise<ChosenCredentials> {
  const { caller, template, tier, given, variables } = wantedCredentials;
  const { orgId, userId } = caller;
  const choices = waysWithVariables(
    template,
    listCredentialChoices(template, { given, tier }),
    variables,
  );
  const connections = choices.flatMap(({ provider }) =>
    provider === null ? [] : listConnectionNames(wantedCredentials, provider),
  );
  const secrets = choices.flatMap((choice) => Object.values(choice.secrets));
  const existingCredentials = await findCredentials(
    executor,
    { orgId, userId, secrets, connections },
    deadline,
  );
  const refusals: AppError[] = [];
  for (const choice of choices) {
    const chosenCredentials = tryChoice(choice, existingCredentials, wantedCredentials);
    if (!(chosenCredentials instanceof AppError)) return chosenCredentials;
    refusals.push(chosenCredentials);
  }
  // When several alternatives fail, a problem with an existing credential is reported rather than a
  // missing credential, because it is more useful to the caller.
  const refusal = refusals.find(({ code }) => code !== 'credential_missing') ?? refusals[0];
  throw refusal ?? secretMissing('');
}

/**
 * The name of the connection that the caller gave, or else the names of connections to look for.
 */
function listConnectionNames(
  { given, name, template, tier }: WantedCredentials,
  provider: string,
): string[] {
  const possibleNames =
    given.connection === null ? [name, template.key, provider] : [given.connection];
  return possibleNames.map((each) => toReferenceInTier(each, tier));
}

function tryChoice(
  choice: CredentialChoice,
  existingCredentials: ExistingCredentials,
  wantedCredentials: WantedCredentials,
): ChosenCredentials | AppError {
  const { schemes, provider, actsAs } = choice;
  const connection =
    provider === null
      ? null
      : findConnection({ provider, actsAs }, existingCredentials, wantedCredentials);
  const server = serverFor(wantedCredentials.template, schemes);
  // Without the account such a service has no address.
  if (connection instanceof AppError && accountAddressOf(server) !== undefined) return connection;
  const account = connection instanceof AppError ? null : connection;
  const address = addressOrRefusal(wantedCredentials, { schemes, account });
  if (address instanceof AppError) return address;
  const placed = { ...wantedCredentials, ...address };
  const secrets: [scheme: string, secret: ExistingSecret][] = [];
  const toAllow: HostsToAllow[] = [];
  for (const [scheme, asked] of Object.entries(choice.secrets)) {
    const secret = existingCredentials.secrets.get(asked);
    if (secret === undefined) return secretMissing(asked);
    if (!maySignRequests(wantedCredentials.template, scheme, secret)) return signingRefused(secret);
    const isGiven = Object.hasOwn(wantedCredentials.given.secrets, scheme);
    const fieldPlace = { kind: 'secret', at: `secrets.${scheme}` } as const;
    const hosts = hostsOfScheme(placed, scheme);
    const refusal = refusalOfHosts(secret, { isGiven, ...fieldPlace }, { ...placed, hosts });
    if (refusal !== undefined) return refusal;
    secrets.push([scheme, secret]);
    const added = hostsClosedTo(secret, hosts);
    if (added.length > 0) toAllow.push({ reference: secret.reference, hosts, added });
  }
  if (connection instanceof AppError) return connection;
  const isGiven = wantedCredentials.given.connection !== null;
  const fieldPlace = { kind: 'connection', at: 'connection', isGiven } as const;
  const hosts = address.credentialHosts;
  const refusal = connection && refusalOfHosts(connection, fieldPlace, { ...placed, hosts });
  if (refusal) return refusal;

  const added = connection === null ? [] : hostsClosedTo(connection, hosts);
  return {
    schemes,
    address,
    secrets: Object.fromEntries(secrets.map(([scheme, { reference }]) => [scheme, reference])),
    connection: connection?.reference ?? null,
    toAllow: {
      secrets: toAllow,
      connections:
        connection !== null && (added.length > 0 || isOutside(connection, address))
          ? [{ reference: connection.reference, hosts, added }]
          : [],
    },
  };
}

/** The address of the service in this way, or the error for variables that do not make one. */
function addressOrRefusal({ addressOf }: WantedCredentials, way: Way): ServiceAddress | AppError {
  try {
    return addressOf(way);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function maySignRequests(
  template: CompiledTemplate,
  scheme: string,
  secret: ExistingSecret,
): boolean {
  const method = template.auth.find((each) => each.scheme === scheme);
  return method === undefined || mayDerive(template, method, secret.reference);
}

/** The hosts of the service, and the host that issues tokens for the secret of this scheme. */
function hostsOfScheme(
  { template, credentialHosts: hosts }: Placed,
  scheme: string,
): readonly string[] {
  const method = template.auth.find((each) => each.scheme === scheme);
  const tokenHost = method?.type === 'apiKey' ? tokenHostOf(method.derivation) : null;
  return tokenHost === null ? hosts : [...new Set([...hosts, tokenHost])];
}

function hostsClosedTo({ allowedHosts }: ExistingSecret, hosts: readonly string[]): string[] {
  return hosts.filter((host) => !allowedHosts.includes(host));
}

/**
 * Whether the connection is bound to base URLs other than those to which calls of the service go.
 */
function isOutside(
  { pin }: { pin?: AccountPin | null },
  { baseUrl, actionServers = [] }: ServiceAddress,
): boolean {
  if (pin === undefined || pin === null) return false;
  return [baseUrl, ...actionServers].some((url) => !pin.baseUrls.includes(url));
}

function findConnection(
  { provider, actsAs }: { provider: string; actsAs: TokenActor | null },
  { connections }: ExistingCredentials,
  wantedCredentials: WantedCredentials,
): ExistingConnection | AppError {
  const { given, template } = wantedCredentials;
  const isGiven = given.connection !== null;
  const possibleNames = listConnectionNames(wantedCredentials, provider);
  const candidates = possibleNames.flatMap((name) => connections.get(name) ?? []);
  const matchingConnection = candidates.find(
    (each) =>
      each.provider === provider && isSameKind(each.actsAs, actsAs) && each.status !== 'revoked',
  );
  if (matchingConnection !== undefined) return matchingConnection;
  const [other] = candidates;
  if (isGiven && other !== undefined && other.provider !== provider) {
    return invalidParams(
      'credentials.connection',
      `"${other.reference}" is a connection to ${other.provider}, and ${template.title} takes one to ${provider}.`,
    );
  }
  if (isGiven && other !== undefined && !isSameKind(other.actsAs, actsAs)) {
    return invalidParams(
      'credentials.connection',
      `"${other.reference}" acts as ${other.actsAs ?? 'user'} at ${provider}, which this way of connecting ${template.title} does not take.`,
    );
  }
  const [name = ''] = possibleNames;
  return new AppError(
    'credential_missing',
    `Connect an account at ${provider} first (POST /v1/connections), or name its connection under credentials.connection.`,
    { details: { connection: name, provider } },
  );
}

interface CredentialField {
  readonly kind: 'secret' | 'connection';
  /** The field of the request body that an error points to, below `credentials`. */
  readonly at: string;
  readonly isGiven: boolean;
}

function refusalOfHosts(
  credential: ExistingSecret & { readonly pin?: AccountPin | null },
  { kind, at, isGiven }: CredentialField,
  { template, hosts, isNamed, ...address }: Placed,
): AppError | undefined {
  if (isGiven && isNamed) return undefined;
  const { reference, allowedHosts } = credential;
  const isNew = allowedHosts.length === 0 && !isGiven;
  if (isNew && template.tier === 'global') return undefined;
  const unknownHosts = hostsClosedTo(credential, hosts);
  const closedHosts = isOutside(credential, { hosts, ...address }) ? hosts : unknownHosts;
  if (closedHosts.length === 0) return undefined;
  return new AppError(
    'host_not_allowed',
    `The ${kind} "${reference}" does not go to ${closedHosts.join(', ')} yet. To let it, name it under credentials.${at}; or name another.`,
    { details: { [kind]: reference, hosts: closedHosts } },
  );
}

function signingRefused({ reference }: ExistingSecret): AppError {
  return new AppError(
    'forbidden',
    `Only built-in and published templates say how the org's secret "${reference}" is used, and this template is a member's own. Ask an admin to publish it, or name a secret of your own under credentials.secrets.`,
    { details: { secret: reference } },
  );
}

function secretMissing(secret: string): AppError {
  return new AppError(
    'credential_missing',
    `Store the secret "${secret}" first, or name another one under credentials.secrets.`,
    { details: { secret } },
  );
}
