import type { Deadline } from '#bus';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { inTier, invalid, listCredentialChoices } from '../domain/credential-choices.ts';
import type { CredentialChoice, GivenCredentials } from '../domain/credential-choices.ts';
import type {
  Credentials,
  ExistingConnection,
  ExistingCredentials,
  ExistingSecret,
} from '../domain/credentials.ts';
import type { Service } from '../domain/service.ts';
import { findExisting } from './existing-credentials.ts';

interface Wanted {
  readonly caller: Principal;
  readonly template: CompiledTemplate;
  readonly tier: Tier;
  /** Of the service. */
  readonly name: string;
  readonly hosts: readonly string[];
  readonly given: GivenCredentials;
  /** Whether the caller itself named `given`, for this template at these hosts. */
  readonly isNamed: boolean;
}

export interface ChosenCredentials extends Credentials {
  /** References that may not go to all of the service's hosts yet, and are to be let. */
  readonly toOpen: { readonly secrets: readonly string[]; readonly connections: readonly string[] };
}

/**
 * The first way in whose credentials are all there and may go to the service's hosts. Naming a
 * credential lets it go there. One that only has the name which the template suggests must be
 * allowed there already, or be new and the template built in: otherwise a template that takes
 * the place of another, or a version that goes elsewhere, would inherit its credentials.
 */
export async function chooseCredentials(
  { executor }: Pick<Deps, 'executor'>,
  wanted: Wanted,
  deadline: Deadline,
): Promise<ChosenCredentials> {
  const { caller, template, tier, given } = wanted;
  const { orgId, userId } = caller;
  const choices = listCredentialChoices(template, { given, tier });
  const connections = choices.flatMap(({ provider }) =>
    provider === null ? [] : connectionNames(wanted, provider),
  );
  const secrets = choices.flatMap((choice) => Object.values(choice.secrets));
  const existing = await findExisting(executor, { orgId, userId, secrets, connections }, deadline);
  const refusals: AppError[] = [];
  for (const choice of choices) {
    const settled = settle(choice, existing, wanted);
    if (!(settled instanceof AppError)) return settled;
    refusals.push(settled);
  }
  // What is wrong with a credential that is there says more than that another one is missing.
  const refusal = refusals.find(({ code }) => code !== 'credential_missing') ?? refusals[0];
  throw refusal ?? secretMissing('');
}

/** Lets what was chosen go to the service's hosts; `host_not_allowed` where that is not the caller's to say. */
export async function openHosts(
  { executor }: Pick<Deps, 'executor'>,
  {
    principal,
    toOpen,
    service,
  }: Pick<ChosenCredentials, 'toOpen'> & {
    principal: string;
    service: Pick<Service, 'template' | 'baseUrl' | 'hosts'>;
  },
  deadline: Deadline,
): Promise<void> {
  const { template, baseUrl, hosts } = service;
  const opened = { principal, hosts: [...hosts], template, baseUrl };
  for (const reference of toOpen.secrets) {
    await executor.allowSecretHosts({ ...opened, reference }, deadline);
  }
  for (const reference of toOpen.connections) {
    await executor.allowConnectionHosts({ ...opened, reference }, deadline);
  }
}

/** The one that was given, else those with a name that suggests itself. */
function connectionNames({ given, name, template, tier }: Wanted, provider: string): string[] {
  const names = given.connection === null ? [name, template.key, provider] : [given.connection];
  return names.map((each) => inTier(each, tier));
}

function settle(
  choice: CredentialChoice,
  existing: ExistingCredentials,
  wanted: Wanted,
): ChosenCredentials | AppError {
  const secrets: [scheme: string, secret: ExistingSecret][] = [];
  for (const [scheme, asked] of Object.entries(choice.secrets)) {
    const secret = existing.secrets.get(asked);
    if (secret === undefined) return secretMissing(asked);
    const isGiven = Object.hasOwn(wanted.given.secrets, scheme);
    const field = { kind: 'secret', at: `secrets.${scheme}` } as const;
    const refusal = refusalOfHosts(secret, { isGiven, ...field }, wanted);
    if (refusal !== undefined) return refusal;
    secrets.push([scheme, secret]);
  }
  const connection =
    choice.provider === null ? null : chooseConnection(choice.provider, existing, wanted);
  if (connection instanceof AppError) return connection;

  const closed = ({ allowedHosts }: ExistingSecret) =>
    wanted.hosts.some((host) => !allowedHosts.includes(host));
  const toOpen = secrets.map(([, secret]) => secret).filter(closed);
  return {
    secrets: Object.fromEntries(secrets.map(([scheme, { reference }]) => [scheme, reference])),
    connection: connection?.reference ?? null,
    toOpen: {
      secrets: [...new Set(toOpen.map(({ reference }) => reference))],
      connections: connection !== null && closed(connection) ? [connection.reference] : [],
    },
  };
}

function chooseConnection(
  provider: string,
  { connections }: ExistingCredentials,
  wanted: Wanted,
): ExistingConnection | AppError {
  const { given, template } = wanted;
  const isGiven = given.connection !== null;
  const asked = connectionNames(wanted, provider);
  const found = asked.flatMap((name) => connections.get(name) ?? []);
  const fitting = found.find((each) => each.provider === provider && each.status !== 'revoked');
  if (fitting !== undefined) {
    const field = { kind: 'connection', at: 'connection' } as const;
    return refusalOfHosts(fitting, { isGiven, ...field }, wanted) ?? fitting;
  }
  const [other] = found;
  if (isGiven && other !== undefined && other.provider !== provider) {
    return invalid(
      'credentials.connection',
      `"${other.reference}" is a connection to ${other.provider}, and ${template.title} takes one to ${provider}.`,
    );
  }
  const [name = ''] = asked;
  return new AppError(
    'credential_missing',
    `Connect an account at ${provider} first (POST /v1/connections), or name its connection under credentials.connection.`,
    { details: { connection: name, provider } },
  );
}

interface Field {
  readonly kind: 'secret' | 'connection';
  /** Below `credentials`. */
  readonly at: string;
  readonly isGiven: boolean;
}

function refusalOfHosts(
  { reference, allowedHosts }: ExistingSecret,
  { kind, at, isGiven }: Field,
  { template, hosts, isNamed }: Wanted,
): AppError | undefined {
  if (isGiven && isNamed) return undefined;
  const isNew = allowedHosts.length === 0 && !isGiven;
  if (isNew && template.tier === 'global') return undefined;
  const closed = hosts.filter((host) => !allowedHosts.includes(host));
  if (closed.length === 0) return undefined;
  return new AppError(
    'host_not_allowed',
    `The ${kind} "${reference}" does not go to ${closed.join(', ')} yet. To let it, name it under credentials.${at}; or name another.`,
    { details: { [kind]: reference, hosts: closed } },
  );
}

function secretMissing(secret: string): AppError {
  return new AppError(
    'credential_missing',
    `Store the secret "${secret}" first, or name another one under credentials.secrets.`,
    { details: { secret } },
  );
}
