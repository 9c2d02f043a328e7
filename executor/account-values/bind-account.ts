import { accountValuesMax } from '#contracts/account-value';
import type { AccountAddress, AccountPin, AccountValue } from '#contracts/account-value';
import { AppError } from '#errors';
import { baseUrlFor, isSameLookUp } from '#templates';

/**
 * What follows from the provider's list of the values (sites, companies or tenants) to which an
 * account has access.
 */
export type Binding =
  | { readonly kind: 'bound'; readonly pin: AccountPin }
  | { readonly kind: 'nothing' }
  /** The account no longer has access to the value to which the connection was bound. */
  | { readonly kind: 'lost'; readonly pin: AccountPin }
  | { readonly kind: 'choose'; readonly choices: readonly AccountValue[] };

/**
 * The most base URLs of one connection. Each template that uses the connection adds one or a few.
 */
export const baseUrlsMax = 20;

/**
 * Binds a connection to one of the values. A connection that is bound stays bound to its value:
 * another value would move its services to another site, company or tenant. Its base URLs stay too,
 * because an agent may have asked with another template. Connecting a service of that template adds
 * the template's base URL.
 */
export function bindAccount(
  values: readonly AccountValue[],
  { address, pin }: { address: AccountAddress | null; pin: AccountPin | null },
): Binding {
  if (pin !== null) {
    const isOpen = values.some(({ value }) => value === pin.value);
    return { kind: isOpen ? 'bound' : 'lost', pin };
  }
  const [first, ...others] = values;
  if (first === undefined || address === null) return { kind: 'nothing' };
  if (others.length > 0) return { kind: 'choose', choices: values.slice(0, accountValuesMax) };
  return { kind: 'bound', pin: pinTo(first, address) };
}

/** Binds a connection to a value from the provider's list, with the base URLs of a template. */
export function pinTo({ value, label }: AccountValue, address: AccountAddress): AccountPin {
  const { get, items, value: at } = address.lookUp;
  const baseUrl = baseUrlFor(address, value);
  if (baseUrl === undefined) {
    throw new AppError(
      'conflict',
      `The template does not say where ${label} is, so nothing was connected. Tell an admin.`,
    );
  }
  const baseUrls = [baseUrl, ...ownServersOf(address, [baseUrl])];
  return { value, label, from: { get, items, value: at }, baseUrls };
}

/**
 * The servers that single actions of the template use, to which the token may go too. Leaves out
 * servers on a host where the value is part of the path: there the token would give access to all
 * values.
 */
function ownServersOf(
  { actionServers = [] }: AccountAddress,
  baseUrls: readonly string[],
): readonly string[] {
  const origins = baseUrls.map((url) => new URL(url).origin);
  return actionServers.filter((url) => {
    const origin = URL.parse(url)?.origin;
    return origin !== undefined && !origins.includes(origin);
  });
}

/** The base URLs that calls of a service use: `baseUrl`, and the servers of single actions. */
export function placesFor(address: AccountAddress | null, baseUrl: string): readonly string[] {
  return [baseUrl, ...(address?.actionServers ?? [])];
}

/**
 * Adds the base URLs of a further template, if that template looks up the value in the same way.
 */
export function withAddress(pin: AccountPin, address: AccountAddress | null): AccountPin {
  if (address === null || !isSameLookUp(pin.from, address.lookUp)) return pin;
  const baseUrl = baseUrlFor(address, pin.value);
  if (baseUrl === undefined) return pin;
  const knownUrls = new Set([...pin.baseUrls, baseUrl]);
  const added = ownServersOf(address, [...knownUrls]);
  const baseUrls = [...new Set([...knownUrls, ...added])].slice(0, baseUrlsMax);
  return { ...pin, baseUrls };
}
