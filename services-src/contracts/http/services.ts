import { z } from 'zod';

import {
  id,
  json,
  name,
  pageOf,
  pageQuery,
  risk,
  templateTier,
  tier,
  timestamp,
} from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** A connected service: a named instance of a template, bound to credentials. */
export const connectedService = z.strictObject({
  id,
  name: z.string(),
  template: z.string(),
  template_version: z.int(),
  title: z.string(),
  status: z.enum(['ready', 'needs_credentials', 'needs_reauth', 'disabled']),
  actions_count: z.int(),
  tier,
  owner_id: id.nullable(),
  base_url: z.string(),
  hosts: z.array(z.string()),
  auto_allow_reads: z.boolean(),
  credentials: z.strictObject({ secrets: z.record(z.string(), z.string()) }),
  created_at: timestamp,
});
export type ConnectedService = z.infer<typeof connectedService>;

/** One action as an agent needs to see it to call it. */
export const actionDescription = z.strictObject({
  action: z.string(),
  summary: z.string(),
  method: z.string(),
  path: z.string(),
  risk,
  params_schema: z.record(z.string(), json),
});

export const serviceDetail = connectedService.extend({
  description: z.string(),
  actions: z.array(actionDescription).max(1000),
});

export const createServiceBody = z.strictObject({
  template: name,
  /** Defaults to the template's key. */
  name: name.optional(),
  variables: z.record(z.string().max(100), z.string().max(200)).optional(),
  base_url: z.url().max(2000).optional(),
  credentials: z
    .strictObject({
      /** Name of the secret by security scheme; the template's `default_secret_name` otherwise. */
      secrets: z.record(z.string().max(100), z.string().max(67)).optional(),
    })
    .optional(),
  auto_allow_reads: z.boolean().optional(),
  tier: tier.optional(),
});

export const updateServiceBody = z.strictObject({ auto_allow_reads: z.boolean() });

/** A registry entry: what can be connected. */
export const template = z.strictObject({
  key: z.string(),
  tier: templateTier,
  version: z.int(),
  title: z.string(),
  description: z.string(),
  category: z.string(),
  runtime: z.string(),
  hosts: z.array(z.string()),
  variables: z.array(
    z.strictObject({ name: z.string(), description: z.string(), default: z.string().nullable() }),
  ),
  base_url_allowed: z.boolean(),
  auth: z.array(
    z.strictObject({
      scheme: z.string(),
      type: z.string(),
      default_secret_name: z.string().nullable(),
    }),
  ),
  actions_count: z.int(),
});
export type Template = z.infer<typeof template>;
export const templateDetail = template.extend({ actions: z.array(actionDescription).max(1000) });

/** `github`, or `org/github` percent-encoded as one path segment. */
const byName = z.strictObject({ name: z.string().max(67) });

export const serviceRoutes = defineRoutes({
  listServices: {
    method: 'GET',
    path: '/v1/services',
    summary: 'Connected services the caller can use',
    tag: 'Services',
    access: 'actions:read',
    query: pageQuery,
    responses: { 200: pageOf(connectedService) },
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
    summary: 'Change whether reads need no rule',
    tag: 'Services',
    access: 'user',
    params: byName,
    body: updateServiceBody,
    responses: { 200: connectedService },
    errors: ['unknown_service', 'forbidden'],
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
  listTemplates: {
    method: 'GET',
    path: '/v1/templates',
    summary: 'Templates that can be connected',
    tag: 'Services',
    access: 'actions:read',
    query: pageQuery,
    responses: { 200: pageOf(template) },
    errors: [],
    audit: 'none',
  },
  getTemplate: {
    method: 'GET',
    path: '/v1/templates/{name}',
    summary: 'One template with its actions',
    tag: 'Services',
    access: 'actions:read',
    params: byName,
    responses: { 200: templateDetail },
    errors: ['not_found'],
    audit: 'none',
  },
});
