import { z } from 'zod';

import { json, pageSchemaOf, pageQuery, risk, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/**
 * `available`: accepted, and unchanged since. `new`: never accepted. `changed`: differs from the
 * accepted definition. `gone`: the server no longer has it. `unusable`: `problem` says why.
 */
export const serviceToolStatus = z.enum(['available', 'new', 'changed', 'gone', 'unusable']);
export type ServiceToolStatus = z.infer<typeof serviceToolStatus>;

/**
 * A tool of the MCP server behind a service. Its texts are untrusted; hidden characters in them are
 * spelled out.
 */
export const serviceTool = z.strictObject({
  name: z.string(),
  status: serviceToolStatus,
  /** Whether the tool can be called now. The template may disable a tool that is available. */
  enabled: z.boolean(),
  summary: z.string(),
  /** The risk with which the tool is called now, or would be called once it is accepted. */
  risk: risk.nullable(),
  /**
   * Identifies the definition that the server offers, so that a person accepts exactly that
   * definition; null when the server offers none.
   */
  hash: z.string().nullable(),
  accepted_hash: z.string().nullable(),
  problem: z.string().nullable(),
});

const toolDefinition = z.record(z.string(), json);

export const serviceToolDetail = serviceTool.extend({
  /** The tool's definition as the server describes it now, and as it was accepted. */
  offered: toolDefinition.nullable(),
  accepted: toolDefinition.nullable(),
  /**
   * The parts in which the offered and the accepted definition differ: `description`,
   * `inputSchema`, …
   */
  differs_in: z.array(z.string()).max(10),
});

/** The tools that a server listed when it was asked for them. */
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
  /**
   * The hash of the definition that the caller looked at; 409 `conflict` if the server offers
   * another definition by now.
   */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

const serviceNameParams = z.strictObject({ name: z.string().max(67) });
const toolParams = serviceNameParams.extend({ tool: z.string().min(1).max(128) });

/**
 * These routes are for people only: an agent must not read descriptions that no person has
 * accepted.
 */
export const serviceToolRoutes = defineRoutes({
  discoverServiceTools: {
    method: 'POST',
    path: '/v1/services/{name}/discover',
    summary: 'Ask the MCP server behind a service for its tools',
    tag: 'Services',
    access: 'user',
    params: serviceNameParams,
    responses: { 200: discoveredTools },
    serves: 'registry.discoverServiceTools',
    audit: ['service.changed'],
  },
  listServiceTools: {
    method: 'GET',
    path: '/v1/services/{name}/tools',
    summary: 'Tools of the MCP server behind a service: accepted, new, changed or gone',
    tag: 'Services',
    access: 'user',
    params: serviceNameParams,
    query: pageQuery,
    responses: { 200: pageSchemaOf(serviceTool) },
    serves: 'registry.listServiceTools',
    audit: 'none',
  },
  getServiceTool: {
    method: 'GET',
    path: '/v1/services/{name}/tools/{tool}',
    summary: 'One tool, as its server describes it and as it was accepted',
    tag: 'Services',
    access: 'user',
    params: toolParams,
    responses: { 200: serviceToolDetail },
    serves: 'registry.getServiceTool',
    audit: 'none',
  },
  acceptServiceTool: {
    method: 'POST',
    path: '/v1/services/{name}/tools/{tool}/accept',
    summary: 'Accept a new or changed tool, so that it can be called',
    tag: 'Services',
    access: 'user',
    params: toolParams,
    body: acceptToolBody,
    responses: { 200: serviceToolDetail },
    serves: 'registry.acceptServiceTool',
    audit: ['service.changed'],
  },
});
