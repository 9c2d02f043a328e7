import { z } from 'zod';

import {
  id,
  shownIdentity,
  name,
  pageQuery,
  pageSchemaOf,
  tier,
  timestamp,
} from '../vocabulary.ts';
import { connectionFields, requireOneAccount } from './connections.ts';
import { defineRoutes } from './define.ts';
import { nextRequest } from './next.ts';
import { plainText } from './plain-text.ts';
import { secretRequestFields } from './secret-requests.ts';
import { wantedTemplate } from './wanted-template.ts';

export const requestKind = z.enum(['service', 'connection', 'secret']);
/** `open`: a person can still answer. All others are final (docs/reference/requests.md#states). */
export const requestStatus = z.enum(['open', 'ready', 'declined', 'expired', 'cancelled']);
export type RequestStatus = z.infer<typeof requestStatus>;

/** What an agent or a user asks a person for (docs/reference/requests.md). */
export const serviceRequest = z.strictObject({
  id,
  kind: requestKind,
  status: requestStatus,
  requester: shownIdentity,
  /** `user`: the requester's user answers. `org`: an admin does. */
  tier,
  template: z.strictObject({ key: z.string(), title: z.string() }).nullable(),
  /** The name that the service, account or secret is to have. */
  name: z.string().nullable(),
  /** The actions that the requester needs. They give no right to call them. */
  actions: z.array(z.string()).max(20),
  scopes: z.array(z.string()).max(100),
  hosts: z.array(z.string()).max(50),
  /** The requester's own words: plain text. */
  reason: z.string().nullable(),
  /** The service that a person connected; null unless `kind` is `service` and `status` is `ready`. */
  service_id: id.nullable(),
  /** The name of that service. The person may have chosen another name than the requested one. */
  service: z.string().nullable().optional(),
  /** The connection that is to be made or widened; null unless `kind` is `connection`. */
  connection_id: id.nullable().optional(),
  /** Others below the same user that asked for the same while the request was open. */
  also_asked_by: z.array(shownIdentity).max(20),
  created_at: timestamp,
  expires_at: timestamp,
  /** Who connected, declined or cancelled; null while the request is open and when it expired. */
  decided_by: shownIdentity.nullable(),
  decline_reason: z.string().nullable(),
  /** The page for the person who answers. It works only for that person, signed in. */
  url: z.string(),
  /**
   * Set when an open request is the answer to a new request for a service: the actions that were
   * requested now and that the open request does not have.
   */
  actions_left_out: z.array(z.string()).max(20).optional(),
});
export type ServiceRequest = z.infer<typeof serviceRequest>;

/** The fields of a request for a service, for REST, MCP and the service `platform` alike. */
export const serviceRequestFields = {
  /** The key of a template that is built in or published for the org. */
  template: wantedTemplate,
  /** The default is the template's key. */
  name: name.optional(),
  /** The actions that are needed; the person sees them beside the service. */
  actions: z
    .array(
      z
        .string()
        .min(1)
        .max(128)
        .regex(/^\P{Cc}*$/u, 'must be one line of plain text'),
    )
    .max(20)
    .optional(),
  reason: plainText.optional(),
  tier: tier.optional(),
} as const;

export const serviceRequestBody = z.strictObject({
  kind: z.literal('service'),
  ...serviceRequestFields,
});
export type ServiceRequestBody = z.infer<typeof serviceRequestBody>;

/** A request of each kind has the fields of the route that makes only requests of this kind. */
export const createRequestBody = z.discriminatedUnion('kind', [
  serviceRequestBody,
  requireOneAccount(z.strictObject({ kind: z.literal('connection'), ...connectionFields })),
  z.strictObject({ kind: z.literal('secret'), ...secretRequestFields }),
]);
export type CreateRequestBody = z.infer<typeof createRequestBody>;

export const declineRequestBody = z.strictObject({ reason: plainText.optional() });

const idParams = z.strictObject({ id });

export const requestRoutes = defineRoutes({
  createRequest: {
    method: 'POST',
    path: '/v1/requests',
    summary: 'Ask a person for a service, an account or a secret; 200 with the open request if any',
    tag: 'Requests',
    access: 'agents',
    body: createRequestBody,
    responses: {
      200: serviceRequest.extend({ next: nextRequest.optional() }),
      201: serviceRequest,
    },
    serves: ['executor.createRequest', 'auth.listDisplayNames'],
    audit: ['request.raised', 'connection.requested', 'secret.requested'],
  },
  listRequests: {
    method: 'GET',
    path: '/v1/requests',
    summary: 'Requests that the caller may see, the newest first',
    tag: 'Requests',
    access: 'agents',
    query: pageQuery.extend({ status: requestStatus.optional() }),
    responses: { 200: pageSchemaOf(serviceRequest) },
    serves: ['executor.listRequests', 'auth.listDisplayNames'],
    audit: 'none',
  },
  getRequest: {
    method: 'GET',
    path: '/v1/requests/{id}',
    summary: 'One request; a person whom it does not concern learns only whom it is for',
    tag: 'Requests',
    access: 'agents',
    params: idParams,
    responses: { 200: serviceRequest },
    serves: ['executor.getRequest', 'auth.listDisplayNames'],
    audit: 'none',
  },
  declineRequest: {
    method: 'POST',
    path: '/v1/requests/{id}/decline',
    summary: 'Decline a request, for a day and for everybody below the same user',
    tag: 'Requests',
    access: 'user',
    params: idParams,
    body: declineRequestBody,
    responses: { 200: serviceRequest },
    serves: ['executor.declineRequest', 'auth.listDisplayNames'],
    audit: ['request.closed'],
  },
  cancelRequest: {
    method: 'POST',
    path: '/v1/requests/{id}/cancel',
    summary: 'Take a request back: its requester, an ancestor of it, or an admin',
    tag: 'Requests',
    access: 'agents',
    params: idParams,
    responses: { 200: serviceRequest },
    serves: ['executor.cancelRequest', 'auth.listDisplayNames'],
    audit: ['request.closed'],
  },
});
