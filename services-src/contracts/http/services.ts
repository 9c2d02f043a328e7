import { z } from 'zod';

import { narrowing } from '../critical.ts';
import {
  id,
  name,
  nameReference,
  pageSchemaOf,
  pageQuery,
  templateTier,
  tier,
  timestamp,
} from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { rule } from './rules.ts';
import { actionDescription, template, templateDifference } from './templates.ts';

/** A credential that a service lacks or cannot use now, and what the caller can do about it. */
export const missingCredential = z.strictObject({
  kind: z.enum(['secret', 'connection']),
  name: z.string(),
  /**
   * `absent`: the credential must be stored or requested. The other values are states of a
   * connection.
   */
  status: z.enum(['absent', 'pending', 'needs_reauth', 'revoked']),
  /** Where the owner of the connection completes or repairs it. */
  auth_url: z.string().optional(),
});
export type MissingCredential = z.infer<typeof missingCredential>;

/**
 * A credential of a service that the provider refused, until a call with it succeeds. The service is
 * called all the same (docs/reference/credentials.md#refused-credentials).
 */
export const refusedCredential = z.strictObject({
  kind: z.enum(['secret', 'connection']),
  name: z.string(),
  refused_at: timestamp,
});
export type RefusedCredential = z.infer<typeof refusedCredential>;

/** A connected service: a named instance of a template, bound to credentials. */
export const connectedService = z.strictObject({
  id,
  name: z.string(),
  template: z.string(),
  template_tier: templateTier,
  /**
   * The version of the template that the service uses. An upgrade would change to `newest_version`.
   */
  template_version: z.int(),
  newest_version: z.int().nullable(),
  title: z.string(),
  status: z.enum(['ready', 'needs_credentials', 'needs_reauth', 'disabled']),
  actions_count: z.int(),
  tier,
  owner_id: id.nullable(),
  base_url: z.string(),
  hosts: z.array(z.string()),
  auto_allow_reads: z.boolean(),
  /**
   * For an MCP server: the version of its set of accepted tools, and when its tools were last
   * listed.
   */
  tools: z
    .strictObject({
      version: z.int(),
      asked_at: timestamp.nullable(),
      /** The error code of the last attempt to list the server's tools, if that attempt failed. */
      error: z.string().nullable(),
      /** How many tools are new or changed, so that a person has to look at them first. */
      waiting: z.int().min(0).optional(),
    })
    .optional(),
  credentials: z.strictObject({
    /** The secret's name for each security scheme. */
    secrets: z.record(z.string(), z.string()),
    /** The connection for the service's OAuth schemes; null when it uses no OAuth scheme. */
    connection: z.string().nullable(),
  }),
  /**
   * The values of the variables in its address; absent when the service is at a base URL that was
   * given, which needs none.
   */
  variables: z.record(z.string(), z.string()).optional(),
  /** The credentials because of which the service is not ready; absent when it is ready. */
  missing: z.array(missingCredential).max(50).optional(),
  /** The credentials that the provider refused; absent when it refused none. */
  refused: z.array(refusedCredential).max(50).optional(),
  /**
   * Actions that are off in this service because they have a server of their own and the service is
   * at a base URL that was given; at most 50 are listed. Absent when there are none.
   */
  disabled_actions: z
    .array(z.strictObject({ action: z.string(), reason: z.string() }))
    .max(50)
    .optional(),
  /**
   * In answers to connecting, changing and upgrading: the credentials that may go to further hosts
   * from now on, and these hosts. Absent when there are none.
   */
  hosts_added: z
    .array(
      z.strictObject({
        kind: z.enum(['secret', 'connection']),
        name: z.string(),
        hosts: z.array(z.string()).max(51),
      }),
    )
    .max(10)
    .optional(),
  created_at: timestamp,
});
export type ConnectedService = z.infer<typeof connectedService>;

export const serviceDetail = connectedService.extend({
  description: z.string(),
  actions: z.array(actionDescription).max(1000),
});

const credentials = z.strictObject({
  /**
   * The secret's name for each security scheme; the default is the template's
   * `default_secret_name`.
   */
  secrets: z.record(z.string().max(100), z.string().max(67)).optional(),
  /**
   * The connection for the service's OAuth schemes; the default is a connection with the name of
   * the service, the template or the provider.
   */
  connection: nameReference.optional(),
});
/** Credentials that replace the present ones; a name must be given for each. */
const replacingCredentials = credentials.refine(
  ({ secrets, connection }) => secrets !== undefined || connection !== undefined,
  'must name secrets or a connection',
);
const variables = z.record(z.string().max(100), z.string().max(200));

export const createServiceBody = z.strictObject({
  template: name,
  /**
   * Chooses a tier (user, org or global) if several have a template with this key; the default is
   * the most specific published template.
   */
  template_tier: templateTier.optional(),
  /**
   * The version that the caller looked at; 409 `conflict` with `reason: template_changed` if another
   * one would be connected by now.
   */
  template_version: narrowing(z.int().min(1)).optional(),
  /** The default is the template's key. */
  name: name.optional(),
  variables: variables.optional(),
  base_url: z.url().max(2000).optional(),
  credentials: credentials.optional(),
  auto_allow_reads: z.boolean().optional(),
  tier: tier.optional(),
  /** The open request that this service answers (docs/reference/requests.md#service). */
  request_id: id.optional(),
});

/** An absent field stays unchanged. */
export const updateServiceBody = z
  .strictObject({
    auto_allow_reads: z.boolean().optional(),
    disabled: z.boolean().optional(),
    credentials: replacingCredentials.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must change something');

export const upgradeServiceBody = z.strictObject({
  /**
   * The `newest_version` that the caller looked at; 409 `conflict` if there is a newer version by
   * now.
   */
  version: z.int().min(1).optional(),
  /** If absent, the variables of the present version are kept. */
  variables: variables.optional(),
  /** Required when the new version uses other hosts. */
  credentials: replacingCredentials.optional(),
  /** If true, reports what would change, and changes nothing. */
  dry_run: z.boolean().optional(),
});

export const upgradedService = z.strictObject({
  from: z.int(),
  to: z.int(),
  difference: templateDifference,
  /** The service after the upgrade; a dry run leaves it unchanged. */
  service: connectedService,
});

/** The answer to REST clients. */
export const upgradeReply = upgradedService.extend({
  /**
   * Rules on the service, as far as the caller may see them, that match no call of the new version
   * any more; absent when they could not be read.
   */
  rules_that_stop: z.array(rule).max(100).optional(),
});

/** `catalog`: published templates that no service uses, on the last page and only if requested. */
export const serviceList = pageSchemaOf(connectedService).extend({
  catalog: z.array(template).max(200).optional(),
});

/** The service's name: `github`, or `org/github` percent-encoded as one path segment. */
const serviceNameParams = z.strictObject({ name: z.string().max(67) });

export const serviceRoutes = defineRoutes({
  listServices: {
    method: 'GET',
    path: '/v1/services',
    summary: 'Connected services the caller can use',
    tag: 'Services',
    access: 'actions:read',
    query: pageQuery.extend({ catalog: z.enum(['true', 'false']).optional() }),
    responses: { 200: serviceList },
    serves: 'registry.listServices',
    audit: 'none',
  },
  createService: {
    method: 'POST',
    path: '/v1/services',
    summary: 'Connect a service: a template, a name and credentials',
    tag: 'Services',
    access: 'user',
    body: createServiceBody,
    responses: { 201: connectedService },
    serves: ['policy.recordAddress', 'registry.createService'],
    audit: ['service.created'],
  },
  getService: {
    method: 'GET',
    path: '/v1/services/{name}',
    summary: 'One connected service with its actions and their parameters',
    tag: 'Services',
    access: 'actions:read',
    params: serviceNameParams,
    responses: { 200: serviceDetail },
    serves: 'registry.getService',
    audit: 'none',
  },
  updateService: {
    method: 'PATCH',
    path: '/v1/services/{name}',
    summary: 'Change whether reads need no rule, which credentials it uses, or take it out of use',
    tag: 'Services',
    access: 'user',
    params: serviceNameParams,
    body: updateServiceBody,
    responses: { 200: connectedService },
    serves: 'registry.updateService',
    audit: ['service.changed'],
  },
  upgradeService: {
    method: 'POST',
    path: '/v1/services/{name}/upgrade',
    summary: 'Pin the newest version of its template, or say what that would change',
    tag: 'Services',
    access: 'user',
    params: serviceNameParams,
    body: upgradeServiceBody,
    responses: { 200: upgradeReply },
    serves: ['registry.upgradeService', 'policy.listRules'],
    audit: ['service.changed'],
  },
  deleteService: {
    method: 'DELETE',
    path: '/v1/services/{name}',
    summary: 'Disconnect a service',
    tag: 'Services',
    access: 'user',
    params: serviceNameParams,
    responses: { 204: null },
    serves: 'registry.deleteService',
    audit: ['service.deleted'],
  },
});
