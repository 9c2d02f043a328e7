import { z } from 'zod';

/**
 * Providers that give one token for several sites, companies or tenants of an account name the one
 * that is meant in the path of the base URL (docs/reference/credentials.md#one-of-several).
 */

/** A path to members of JSON, such as `.id` or `.site.id`. */
const memberPath = z.string().regex(/^(\.[A-Za-z_][A-Za-z0-9_-]{0,60}){1,5}$/);
/** A path to a list, such as `.[]` or `.values[]`. */
const listPath = z.string().regex(/^(\.|(\.[A-Za-z_][A-Za-z0-9_-]{0,60}){1,5})\[\]$/);

/** How to list the sites, companies or tenants that a token can access. */
export const accountLookUp = z.strictObject({
  /** Requested with the new token; on a host of the provider. */
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
  /** The URLs of the servers that actions of the template have of their own. */
  actionServers: z.array(z.string().max(2000)).max(10).optional(),
});
export type AccountAddress = z.infer<typeof accountAddress>;

/** One site, company or tenant that a token opens. */
export const accountValue = z.strictObject({
  value: z.string().min(1).max(128),
  label: z.string().min(1).max(200),
});
export type AccountValue = z.infer<typeof accountValue>;

/** The most values of one account among which a person picks. */
export const accountValuesMax = 200;

/** What the token of a connection is bound to. It is sent to these base URLs and nowhere else. */
export const accountPin = accountValue.extend({
  /** Where the value is from; another look-up gives values with another meaning. */
  from: accountLookUp.omit({ label: true }),
  baseUrls: z.array(z.string().max(2000)).min(1).max(20),
});
export type AccountPin = z.infer<typeof accountPin>;
