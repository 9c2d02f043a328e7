import { z } from 'zod';

import { accountLookUp } from './account-value.ts';

/** The address of a template's calls, as its author wrote it (docs/reference/templates.md#servers). */

export const serverVariable = z.strictObject({
  name: z.string().max(100),
  description: z.string().max(1000),
  default: z.string().max(200).nullable(),
  /**
   * In `server` of a template, which replicas of an earlier release read, a variable that takes its
   * value from the account has an empty list: they accept no value of it.
   */
  enum: z.array(z.string().max(200)).max(200).nullable(),
  /** Set when the value comes from the account of the connection. Only in the member `servers`. */
  account: accountLookUp.optional(),
});
export type ServerVariable = z.infer<typeof serverVariable>;

export const templateServer = z.strictObject({
  /** Base URL with `{variable}` parts. */
  url: z.string().max(2000),
  variables: z.array(serverVariable).max(20),
  /** True for a self-hosted product: the admin who connects it may give another base URL. */
  baseUrlAllowed: z.boolean(),
  /**
   * The security schemes of this server: it is the address of services that are connected with
   * them. Absent when it is the address of all services. Only in the member `servers` of a
   * template.
   */
  schemes: z.array(z.string().max(100)).min(1).max(20).optional(),
});
export type TemplateServer = z.infer<typeof templateServer>;

/**
 * The server of one operation or path. It replaces the template's server
 * (docs/reference/templates.md#servers-of-operations).
 */
export const actionServer = z.strictObject({
  /** Base URL without variables. */
  url: z.string().max(2000),
  /**
   * The path that replaces this server when a base URL was given for the service; the operation is
   * below that base URL. Without it, the action is off in such a service.
   */
  basePath: z.string().max(200).optional(),
});
export type ActionServer = z.infer<typeof actionServer>;
