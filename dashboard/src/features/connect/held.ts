import type { Connection } from '#contracts/http/connections';
import type { ConnectedService } from '#contracts/http/services';
import type { TemplateDifference } from '#contracts/http/templates';
import { partsOf } from '../services/service-view.ts';
import { isUnbound } from './connect-view.ts';
import type { Address, ConnectionWay } from './connect-view.ts';

/** What an upgraded service already has. The person is not asked for it again. */
export interface Held {
  /** References of secrets, by security scheme. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly connection: { readonly reference: string; readonly account: Connection } | null;
  /** Undefined if the service was given a base URL, because such an address has no variables. */
  readonly variables: Readonly<Record<string, string>> | undefined;
}

/** A service that is upgraded to a newer version of its template. */
export interface ServiceUpgrade {
  readonly service: ConnectedService;
  readonly held: Held;
  readonly difference: Pick<TemplateDifference, 'hosts'>;
}

export const nothingHeld: Held = { secrets: {}, connection: null, variables: {} };

/**
 * What the service already has of what this version of the template needs. If a scheme has changed
 * and now takes several values, the stored secret may not fit, so the person chooses again.
 */
export function heldBy(
  { credentials, variables }: Pick<ConnectedService, 'credentials' | 'variables'>,
  {
    ways,
    changedSchemes,
    connections,
  }: {
    ways: readonly ConnectionWay[];
    changedSchemes: readonly string[];
    connections: readonly Connection[];
  },
): Held {
  const schemesToAskFor = ways
    .flatMap(({ secrets }) => secrets)
    .filter(({ scheme, parts }) => parts !== undefined && changedSchemes.includes(scheme))
    .map(({ scheme }) => scheme);
  const reference = credentials.connection;
  const { name, tier } = partsOf(reference ?? '');
  const account = connections.find((each) => each.name === name && each.tier === tier);
  return {
    secrets: Object.fromEntries(
      Object.entries(credentials.secrets).filter(([scheme]) => !schemesToAskFor.includes(scheme)),
    ),
    connection: reference === null || account === undefined ? null : { reference, account },
    variables,
  };
}

/** What the service still lacks to be connected in this way. */
export function lackingOf(way: ConnectionWay, held: Held): ConnectionWay {
  return {
    ...way,
    secrets: way.secrets.filter(({ scheme }) => !Object.hasOwn(held.secrets, scheme)),
    account: holdsAccountOf(way, held) ? null : way.account,
  };
}

/** The variables of the address for which the service does not have a value yet. */
export function lackingVariables(
  { variables }: Pick<Address, 'variables'>,
  held: Held,
): Address['variables'] {
  const values = held.variables;
  return values === undefined ? [] : variables.filter(({ name }) => !Object.hasOwn(values, name));
}

/** Whether the service has everything that this way needs. */
export function isHeld(way: ConnectionWay, held: Held): boolean {
  const { secrets, account } = lackingOf(way, held);
  return secrets.length === 0 && account === null;
}

/**
 * The index of the way to use: the service has everything that the way needs. If there are several,
 * the one that uses the most credentials.
 */
export function findHeldWayIndex(ways: readonly ConnectionWay[], held: Held): number | undefined {
  const size = ({ secrets, account }: ConnectionWay) => secrets.length + Number(account !== null);
  const [best] = ways
    .map((way, index) => ({ way, index }))
    .filter(({ way }) => isHeld(way, held))
    .toSorted((one, other) => size(other.way) - size(one.way));
  return best?.index;
}

/** The credentials of this way that the service already has, in the format of API requests. */
export function heldCredentialsOf(
  way: ConnectionWay,
  held: Held,
): { secrets: Record<string, string>; connection: string | null } {
  const schemes = way.secrets.map(({ scheme }) => scheme);
  return {
    secrets: Object.fromEntries(
      Object.entries(held.secrets).filter(([scheme]) => schemes.includes(scheme)),
    ),
    connection: holdsAccountOf(way, held) ? (held.connection?.reference ?? null) : null,
  };
}

/** The hosts to which the service will send requests from now on, but did not before. */
export function newHostsOf(
  { service, held, difference }: ServiceUpgrade,
  hosts: readonly string[],
): readonly string[] {
  return held.variables === undefined
    ? difference.hosts.added
    : hosts.filter((host) => !service.hosts.includes(host));
}

/** Whether this way uses all credentials of the service. */
export function usesAll(
  way: ConnectionWay,
  { credentials }: ConnectedService,
  held: Held,
): boolean {
  const used = heldCredentialsOf(way, held);
  return (
    Object.keys(credentials.secrets).every((scheme) => Object.hasOwn(used.secrets, scheme)) &&
    credentials.connection === used.connection
  );
}

function holdsAccountOf({ account, address }: ConnectionWay, { connection }: Held): boolean {
  if (account === null || connection === null) return false;
  const { provider, acts_as: actsAs } = connection.account;
  return (
    provider === account.provider &&
    (actsAs ?? 'user') === (account.acts_as ?? 'user') &&
    (address === undefined || !isUnbound(connection.account, address))
  );
}
