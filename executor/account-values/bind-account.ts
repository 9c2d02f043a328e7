import { accountValuesMax } from '#contracts/account-value';
import type { AccountAddress, AccountPin, AccountValue } from '#contracts/account-value';
import { AppError } from '#errors';
import { baseUrlFor, isSameLookUp } from '#templates';

/** What came of asking a provider what an account opens. */
export type Binding =
  | { readonly kind: 'bound'; readonly pin: AccountPin }
  | { readonly kind: 'nothing' }
  /** The value to which the connection was bound is no longer among them. */
  | { readonly kind: 'lost'; readonly pin: AccountPin }
  | { readonly kind: 'choose'; readonly choices: readonly AccountValue[] };

/** The most base URLs to which a connection is bound: one or a few for each template that it serves. */
export const baseUrlsMax = 20;

/**
 * Binds a connection to one of the values. A connection that is bound stays so: another value would
 * put its services to another site, company or tenant. Its base URLs stay too, because an agent may have
 * asked with another template. Connecting a service of that template adds its base URL.
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

/** Binds a connection to a value that the provider has named, at the address of a template. */
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
 * The servers that actions of the template have of their own, to which the token goes too. None on a host
 * where the value is a part of the path: it would open all values.
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

/** The base URLs to which calls of a service go that is at this one. */
export function placesFor(address: AccountAddress | null, baseUrl: string): readonly string[] {
  return [baseUrl, ...(address?.actionServers ?? [])];
}

/** Adds the base URLs of a further template, if its value comes from the same look-up. */
export function withAddress(pin: AccountPin, address: AccountAddress | null): AccountPin {
  if (address === null || !isSameLookUp(pin.from, address.lookUp)) return pin;
  const baseUrl = baseUrlFor(address, pin.value);
  if (baseUrl === undefined) return pin;
  const known = new Set([...pin.baseUrls, baseUrl]);
  const added = ownServersOf(address, [...known]);
  const baseUrls = [...new Set([...known, ...added])].slice(0, baseUrlsMax);
  return { ...pin, baseUrls };
}
