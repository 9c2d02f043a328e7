import type { Connection } from '#contracts/http/connections';
import type { ConnectedService } from '#contracts/http/services';
import type { TemplateDifference } from '#contracts/http/templates';
import { partsOf } from '../services/service-view.ts';
import { isUnbound } from './connect-view.ts';
import type { Address, ConnectionWay } from './connect-view.ts';

/** What a service that is upgraded has already, so that nobody is asked for it again. */
export interface Held {
  /** References of secrets by security scheme. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly connection: { readonly reference: string; readonly account: Connection } | null;
  /** Undefined when the service was given a base URL, because that has no variables. */
  readonly variables: Readonly<Record<string, string>> | undefined;
}

/** A service that takes a newer version of its template. */
export interface ServiceUpgrade {
  readonly service: ConnectedService;
  readonly held: Held;
  readonly difference: Pick<TemplateDifference, 'hosts'>;
}

export const nothingHeld: Held = { secrets: {}, connection: null, variables: {} };

/**
 * What the service has for this version of its template. A scheme that has changed and takes several
 * values now may not take the stored one, so a person chooses.
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
  const reopened = ways
    .flatMap(({ secrets }) => secrets)
    .filter(({ scheme, parts }) => parts !== undefined && changedSchemes.includes(scheme))
    .map(({ scheme }) => scheme);
  const reference = credentials.connection;
  const { name, tier } = partsOf(reference ?? '');
  const account = connections.find((each) => each.name === name && each.tier === tier);
  return {
    secrets: Object.fromEntries(
      Object.entries(credentials.secrets).filter(([scheme]) => !reopened.includes(scheme)),
    ),
    connection: reference === null || account === undefined ? null : { reference, account },
    variables,
  };
}

/** The way without what the service has already. */
export function lackingOf(way: ConnectionWay, held: Held): ConnectionWay {
  return {
    ...way,
    secrets: way.secrets.filter(({ scheme }) => !Object.hasOwn(held.secrets, scheme)),
    account: holdsAccountOf(way, held) ? null : way.account,
  };
}

/** The variables of the address for which the service has no value yet. */
export function lackingVariables(
  { variables }: Pick<Address, 'variables'>,
  held: Held,
): Address['variables'] {
  const values = held.variables;
  return values === undefined ? [] : variables.filter(({ name }) => !Object.hasOwn(values, name));
}

/** Whether the service has everything of this way. */
export function isHeld(way: ConnectionWay, held: Held): boolean {
  const { secrets, account } = lackingOf(way, held);
  return secrets.length === 0 && account === null;
}

/** Of the ways of which the service has everything, the index of the one that uses the most of it. */
export function findHeldWayIndex(ways: readonly ConnectionWay[], held: Held): number | undefined {
  const size = ({ secrets, account }: ConnectionWay) => secrets.length + Number(account !== null);
  const [best] = ways
    .map((way, index) => ({ way, index }))
    .filter(({ way }) => isHeld(way, held))
    .toSorted((one, other) => size(other.way) - size(one.way));
  return best?.index;
}

/** The credentials of this way that the service has already, as a request names them. */
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

/** The hosts to which the service was not called before, of those to which it will be called. */
export function newHostsOf(
  { service, held, difference }: ServiceUpgrade,
  hosts: readonly string[],
): readonly string[] {
  return held.variables === undefined
    ? difference.hosts.added
    : hosts.filter((host) => !service.hosts.includes(host));
}

/** Whether this way uses every credential that the service has. */
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
