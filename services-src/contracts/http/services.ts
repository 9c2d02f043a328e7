import { z } from 'zod';

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
import { askingErrors } from './service-tools.ts';
import { actionDescription, template, templateDifference } from './templates.ts';

/** A credential of a service that cannot be used now, and what would help. */
export const missingCredential = z.strictObject({
  kind: z.enum(['secret', 'connection']),
  name: z.string(),
  /** `absent`: to be stored, or asked for; the others are what a connection is. */
  status: z.enum(['absent', 'pending', 'needs_reauth', 'revoked']),
  /** Where the owner of the connection completes or repairs it. */
  auth_url: z.string().optional(),
});
export type MissingCredential = z.infer<typeof missingCredential>;

/** A connected service: a named instance of a template, bound to credentials. */
export const connectedService = z.strictObject({
  id,
  name: z.string(),
  template: z.string(),
  template_tier: templateTier,
  /** Pinned when it was connected; `newest_version` is what an upgrade would pin. */
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
  /** Of an MCP server: its accepted tools, counted up with every change, and when it was last asked. */
  tools: z
    .strictObject({
      version: z.int(),
      asked_at: timestamp.nullable(),
      /** Why it could not be asked the last time, as an error code. */
      error: z.string().nullable(),
    })
    .optional(),
  credentials: z.strictObject({
    /** Secret by security scheme. */
    secrets: z.record(z.string(), z.string()),
    /** The connection of its OAuth schemes; null when it uses none of them. */
    connection: z.string().nullable(),
  }),
  /** Why it is not ready; left out where it lacks nothing. */
  missing: z.array(missingCredential).max(50).optional(),
  created_at: timestamp,
});
export type ConnectedService = z.infer<typeof connectedService>;

export const serviceDetail = connectedService.extend({
  description: z.string(),
  actions: z.array(actionDescription).max(1000),
});

const credentials = z.strictObject({
  /** Name of the secret by security scheme; the template's `default_secret_name` otherwise. */
  secrets: z.record(z.string().max(100), z.string().max(67)).optional(),
  /** Name of the connection for its OAuth schemes; one named like the service, the template or the provider otherwise. */
  connection: nameReference.optional(),
});
/** What replaces the credentials in use: named in full. */
const replacingCredentials = credentials.refine(
  ({ secrets, connection }) => secrets !== undefined || connection !== undefined,
  'must name secrets or a connection',
);
const variables = z.record(z.string().max(100), z.string().max(200));

export const createServiceBody = z.strictObject({
  template: name,
  /** Where several tiers have the key; else the most specific that is published. */
  template_tier: templateTier.optional(),
  /** Defaults to the template's key. */
  name: name.optional(),
  variables: variables.optional(),
  base_url: z.url().max(2000).optional(),
  credentials: credentials.optional(),
  auto_allow_reads: z.boolean().optional(),
  tier: tier.optional(),
});

/** What is absent stays as it is. */
export const updateServiceBody = z
  .strictObject({
    auto_allow_reads: z.boolean().optional(),
    disabled: z.boolean().optional(),
    credentials: replacingCredentials.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must change something');

export const upgradeServiceBody = z.strictObject({
  /** The `newest_version` that was looked at; if it is another by now, 409 `conflict`. */
  version: z.int().min(1).optional(),
  /** Those given when it was connected, where absent. */
  variables: variables.optional(),
  /** Needed again where the new version goes to other hosts. */
  credentials: replacingCredentials.optional(),
  /** Only say what would change. */
  dry_run: z.boolean().optional(),
});

export const upgradedService = z.strictObject({
  from: z.int(),
  to: z.int(),
  difference: templateDifference,
  /** As it is now: unchanged after a dry run. */
  service: connectedService,
});

/** `catalog`: on the last page when it was asked for, published templates that no service uses. */
export const serviceList = pageSchemaOf(connectedService).extend({
  catalog: z.array(template).max(200).optional(),
});

/** `github`, or `org/github` percent-encoded as one path segment. */
const byName = z.strictObject({ name: z.string().max(67) });

export const serviceRoutes = defineRoutes({
  listServices: {
    method: 'GET',
    path: '/v1/services',
    summary: 'Connected services the caller can use',
    tag: 'Services',
    access: 'actions:read',
    query: pageQuery.extend({ catalog: z.enum(['true', 'false']).optional() }),
    responses: { 200: serviceList },
    errors: [],
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
    errors: [
      'forbidden',
      'conflict',
      'not_found',
      'credential_missing',
      'host_not_allowed',
      'invalid_params',
      ...askingErrors,
    ],
    audit: ['service.created'],
  },
  getService: {
    method: 'GET',
    path: '/v1/services/{name}',
    summary: 'One connected service with its actions and their parameters',
    tag: 'Services',
    access: 'actions:read',
    params: byName,
    responses: { 200: serviceDetail },
    errors: ['unknown_service'],
    audit: 'none',
  },
  updateService: {
    method: 'PATCH',
    path: '/v1/services/{name}',
    summary: 'Change whether reads need no rule, which credentials it uses, or take it out of use',
    tag: 'Services',
    access: 'user',
    params: byName,
    body: updateServiceBody,
    responses: { 200: connectedService },
    errors: [
      'unknown_service',
      'forbidden',
      'conflict',
      'credential_missing',
      'host_not_allowed',
      'invalid_params',
    ],
    audit: ['service.changed'],
  },
  upgradeService: {
    method: 'POST',
    path: '/v1/services/{name}/upgrade',
    summary: 'Pin the newest version of its template, or say what that would change',
    tag: 'Services',
    access: 'user',
    params: byName,
    body: upgradeServiceBody,
    responses: { 200: upgradedService },
    errors: [
      'unknown_service',
      'forbidden',
      'conflict',
      'credential_missing',
      'host_not_allowed',
      'invalid_params',
      ...askingErrors,
    ],
    audit: ['service.changed'],
  },
  deleteService: {
    method: 'DELETE',
    path: '/v1/services/{name}',
    summary: 'Disconnect a service',
    tag: 'Services',
    access: 'user',
    params: byName,
    responses: { 204: null },
    errors: ['unknown_service', 'forbidden'],
    audit: ['service.deleted'],
  },
});
