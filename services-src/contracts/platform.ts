import { z } from 'zod';

import type { ServiceRecord } from './bus/registry.ts';
import { params } from './call.ts';
import type { TemplateReference } from './call.ts';
import { publicEventTypes } from './events.ts';
import type { EventType } from './events.ts';
import { createConnectionBody } from './http/connections.ts';
import { createSubagentBody } from './http/identities.ts';
import type { Access } from './http/define.ts';
import { serviceRequestFields } from './http/requests.ts';
import { requestSecretBody } from './http/secret-requests.ts';
import { searchLimits } from './http/search.ts';
import type { CompiledAction, CompiledTemplate } from './template.ts';
import { httpMethod, id, json, nameReference } from './vocabulary.ts';
import type { JsonValue, Risk } from './vocabulary.ts';

/**
 * One action of the built-in service `platform`, by which agents use the gateway itself. Each
 * action is a bus endpoint of the component that owns it, called on the caller's behalf. Calls of
 * the service need no connection and no rule, obey deny rules, and are never suspended
 * (docs/reference/calling.md#the-service-platform).
 */
interface PlatformAction {
  readonly summary: string;
  readonly risk: Extract<Risk, 'read' | 'write'>;
  /**
   * The scope that the credential needs in addition to the scope for calling actions, as on the
   * REST routes.
   */
  readonly access: Exclude<Access, 'public' | 'user'>;
  readonly params: z.ZodObject;
  /** The parameter whose value is in the permission key. */
  readonly scopeParam?: string;
}

const limit = z.int().min(1).max(200).optional();
const cursor = z.string().max(500).optional();
const eventNames = publicEventTypes as [EventType, ...EventType[]];

export const platformActions = {
  whoami: {
    summary: 'Who you are: your identity, the ones above you, your org and your scopes',
    risk: 'read',
    access: 'any',
    params: z.strictObject({}),
  },
  list_services: {
    summary: 'The connected services you can use, and whether they have their credentials',
    risk: 'read',
    access: 'actions:read',
    params: z.strictObject({ limit, cursor }),
  },
  search: {
    summary: 'Find actions of the connected services by what they do',
    risk: 'read',
    access: 'actions:read',
    params: z.strictObject({
      query: z.string().max(200),
      limit: z.int().min(1).max(searchLimits.max).optional(),
      catalog: z.boolean().optional(),
    }),
  },
  validate_call: {
    summary: 'What would happen to a call, and why; nothing is sent',
    risk: 'read',
    access: 'actions:read',
    params: z.strictObject({
      service: z.union([z.literal('http'), nameReference]),
      action: z.string().min(1).max(128).optional(),
      params: params.optional(),
      method: httpMethod.optional(),
      path: z.string().min(1).max(8192).optional(),
      body: json.optional(),
    }),
  },
  list_pending: {
    summary: 'Approvals that are open: your own, and those you could decide',
    risk: 'read',
    access: 'approvals',
    params: z.strictObject({ limit, cursor }),
  },
  cancel_pending: {
    summary: 'Take back a call of yours that waits for approval',
    risk: 'write',
    access: 'approvals',
    params: z.strictObject({ id }),
  },
  get_events: {
    summary: 'What happened in your chain since an earlier position, oldest first',
    risk: 'read',
    access: 'approvals',
    params: z.strictObject({
      after: z.int().min(0).optional(),
      types: z.array(z.enum(eventNames)).max(50).optional(),
      limit,
    }),
  },
  create_subagent: {
    summary: 'Create a subagent below you',
    risk: 'write',
    access: 'agents',
    params: createSubagentBody,
  },
  request_secret: {
    summary: 'Ask a person for a new secret, by a link on which they enter what you never see',
    risk: 'write',
    access: 'agents',
    params: requestSecretBody,
  },
  request_connection: {
    summary: 'Ask your user for access to an account, by a link on which they grant it',
    risk: 'write',
    access: 'agents',
    params: createConnectionBody,
  },
  request_service: {
    summary: 'Ask a person to connect a service, by a page on which they do so or decline',
    risk: 'write',
    access: 'agents',
    params: z.strictObject(serviceRequestFields),
    scopeParam: 'template',
  },
} as const satisfies Record<string, PlatformAction>;
export type PlatformActionName = keyof typeof platformActions;

export const platformKey = 'platform';

/** This host is never called: no host name below `invalid` exists (RFC 2606 §2). */
const platformHost = 'platform.invalid';
const platformBaseUrl = `https://${platformHost}`;

const platformReference: TemplateReference = {
  key: platformKey,
  tier: 'global',
  ownerId: null,
  version: 1,
};

export const platformTemplate: CompiledTemplate = {
  ...platformReference,
  title: 'Platform',
  description: 'This gateway itself: identity, services, search, approvals, events, subagents.',
  category: 'Platform',
  runtime: 'platform',
  server: { url: platformBaseUrl, variables: [], baseUrlAllowed: false },
  hosts: [platformHost],
  auth: [],
  security: [],
  actions: Object.fromEntries(
    Object.entries<PlatformAction>(platformActions).map(([key, action]) => [
      key,
      compilePlatformAction(key, action),
    ]),
  ),
};

/** This id is the same for every org; nothing refers to the service by it. */
export const platformService: ServiceRecord = {
  id: '00000000-0000-0000-0000-000000000000',
  name: platformKey,
  tier: 'org',
  ownerId: null,
  template: platformReference,
  status: 'ready',
  autoAllowReads: true,
  baseUrl: platformBaseUrl,
  hosts: [platformHost],
  secrets: {},
  connection: null,
};

function compilePlatformAction(
  key: string,
  { summary, risk, params: schema, scopeParam }: PlatformAction,
): CompiledAction {
  const isRead = risk === 'read';
  const { $schema: _, ...paramsSchema } = z.toJSONSchema(schema, { io: 'input' }) as Record<
    string,
    JsonValue
  >;
  const required = paramsSchema['required'] as string[] | undefined;
  const properties = Object.entries(
    paramsSchema['properties'] as Record<string, Record<string, JsonValue>>,
  );
  return {
    key,
    method: isRead ? 'GET' : 'POST',
    path: `/${key}`,
    summary,
    description: [{ text: summary }],
    risk,
    scopeParam: scopeParam ?? null,
    params: properties.map(([name, property]) => ({
      name,
      wireName: name,
      in: isRead ? 'query' : 'body',
      style: 'json',
      required: required?.includes(name) ?? false,
      description: '',
      schema: property,
      explode: false,
      allowReserved: false,
      resolve: null,
    })),
    paramsSchema,
    body: isRead
      ? null
      : { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    disclose: [],
    redact: [],
    responseType: 'json',
    minimumScopes: null,
    disabled: false,
  };
}
