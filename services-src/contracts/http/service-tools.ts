import { z } from 'zod';

import type { ErrorCode } from '../errors.ts';
import { json, pageSchemaOf, pageQuery, risk, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/**
 * `available`: accepted, and as it was then. `new`: never accepted. `changed`: no longer what was
 * accepted. `gone`: its server does not have it any more. `unusable`: `problem` says why.
 */
export const serviceToolStatus = z.enum(['available', 'new', 'changed', 'gone', 'unusable']);
export type ServiceToolStatus = z.infer<typeof serviceToolStatus>;

/** A tool of the MCP server behind a service. Its texts are a stranger's; what they would hide is spelled out. */
export const serviceTool = z.strictObject({
  name: z.string(),
  status: serviceToolStatus,
  /** Whether it can be called now. The template may disable a tool that is available. */
  enabled: z.boolean(),
  summary: z.string(),
  /** As it is called now, or would be once accepted. */
  risk: risk.nullable(),
  /** Names what its server offers: what accepting it refers to. Null when that is nothing. */
  hash: z.string().nullable(),
  accepted_hash: z.string().nullable(),
  problem: z.string().nullable(),
});

const definition = z.record(z.string(), json);

export const serviceToolDetail = serviceTool.extend({
  /** As its server describes it, and as it was accepted. */
  offered: definition.nullable(),
  accepted: definition.nullable(),
  /** Which parts of the two differ: `description`, `inputSchema`, … */
  differs_in: z.array(z.string()).max(10),
});

/** What asking a server for its tools found. */
export const discoveredTools = z.strictObject({
  protocol_version: z.string(),
  asked_at: timestamp,
  tools: z.strictObject({
    available: z.int(),
    new: z.int(),
    changed: z.int(),
    gone: z.int(),
    unusable: z.int(),
  }),
});

export const acceptToolBody = z.strictObject({
  /** Of what was looked at; if the server offers something else by now, 409 `conflict`. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

/** What can go wrong when a server is asked for its tools: on connecting, upgrading, and on request. */
export const askingErrors = [
  'needs_authentication',
  'reauth_required',
  'upstream_unreachable',
  'upstream_refused_address',
  'upstream_incomplete',
  'upstream_timeout',
  'response_too_large',
] as const satisfies readonly ErrorCode[];

const byName = z.strictObject({ name: z.string().max(67) });
const oneTool = byName.extend({ tool: z.string().min(1).max(128) });

/** All of them for people alone: what nobody accepted yet is not for agents to read either. */
export const serviceToolRoutes = defineRoutes({
  discoverServiceTools: {
    method: 'POST',
    path: '/v1/services/{name}/discover',
    summary: 'Ask the MCP server behind a service for its tools',
    tag: 'Services',
    access: 'user',
    params: byName,
    responses: { 200: discoveredTools },
    errors: [
      'unknown_service',
      'forbidden',
      'conflict',
      'credential_missing',
      'host_not_allowed',
      ...askingErrors,
    ],
    audit: ['service.changed'],
  },
  listServiceTools: {
    method: 'GET',
    path: '/v1/services/{name}/tools',
    summary: 'Tools of the MCP server behind a service: accepted, new, changed or gone',
    tag: 'Services',
    access: 'user',
    params: byName,
    query: pageQuery,
    responses: { 200: pageSchemaOf(serviceTool) },
    errors: ['unknown_service'],
    audit: 'none',
  },
  getServiceTool: {
    method: 'GET',
    path: '/v1/services/{name}/tools/{tool}',
    summary: 'One tool, as its server describes it and as it was accepted',
    tag: 'Services',
    access: 'user',
    params: oneTool,
    responses: { 200: serviceToolDetail },
    errors: ['unknown_service', 'not_found'],
    audit: 'none',
  },
  acceptServiceTool: {
    method: 'POST',
    path: '/v1/services/{name}/tools/{tool}/accept',
    summary: 'Accept a new or changed tool, so that it can be called',
    tag: 'Services',
    access: 'user',
    params: oneTool,
    body: acceptToolBody,
    responses: { 200: serviceToolDetail },
    errors: ['unknown_service', 'not_found', 'forbidden', 'conflict'],
    audit: ['service.changed'],
  },
});
