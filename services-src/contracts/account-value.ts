import { z } from 'zod';

/**
 * Some providers issue one token for several sites, companies or tenants of an account. The path of
 * the base URL then names the one that is meant (docs/reference/credentials.md#one-of-several).
 */

/** A path to members of JSON, such as `.id` or `.site.id`. */
const memberPath = z.string().regex(/^(\.[A-Za-z_][A-Za-z0-9_-]{0,60}){1,5}$/);
/** A path to a list, such as `.[]` or `.values[]`. */
const listPath = z.string().regex(/^(\.|(\.[A-Za-z_][A-Za-z0-9_-]{0,60}){1,5})\[\]$/);

/** How to list the sites, companies or tenants that a token can access. */
export const accountLookUp = z.strictObject({
  /** The URL to request with the new token. It is on a host of the provider. */
  get: z.string().max(2000),
  items: listPath,
  value: memberPath,
  /** The member that people see as the name of an item; by default its value. */
  label: memberPath.optional(),
});
export type AccountLookUp = z.infer<typeof accountLookUp>;

/** The server of a template whose only variable gets its value from the account. */
export const accountAddress = z.strictObject({
  lookUp: accountLookUp,
  /** The server's URL, with `{variable}`. */
  server: z.string().max(2000),
  variable: z.string().max(100),
  /** The URLs of the servers that single actions of the template declare. */
  actionServers: z.array(z.string().max(2000)).max(10).optional(),
});
export type AccountAddress = z.infer<typeof accountAddress>;

/** One site, company or tenant to which a token gives access. */
export const accountValue = z.strictObject({
  value: z.string().min(1).max(128),
  label: z.string().min(1).max(200),
});
export type AccountValue = z.infer<typeof accountValue>;

/** The most values of one account that a person can choose from. */
export const accountValuesMax = 200;

/**
 * The value to which the token of a connection is bound. The token is sent only to these base URLs.
 */
export const accountPin = accountValue.extend({
  /** The look-up that gave the value. The value of another look-up would mean something else. */
  from: accountLookUp.omit({ label: true }),
  baseUrls: z.array(z.string().max(2000)).min(1).max(20),
});
export type AccountPin = z.infer<typeof accountPin>;
