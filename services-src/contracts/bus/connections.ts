import { z } from 'zod';

import { templateReference } from '../call.ts';
import type { EndpointSpec } from '../define.ts';
import {
  askedConnection,
  connection,
  connectionStatus,
  createConnectionBody,
} from '../http/connections.ts';
import { oauthApp, oauthAppBody } from '../http/oauth-apps.ts';
import { oauthScope } from '../oauth-provider.ts';
import {
  callContext,
  host,
  id,
  identityReference,
  name,
  nameReference,
  pageSchemaOf,
  pageRequest,
  signedPrincipal,
} from '../vocabulary.ts';

const done = z.strictObject({});
const asked = z.strictObject({ principal: signedPrincipal });
const change = asked.extend({ context: callContext });

const quick = { callers: ['gateway'], timeoutMs: 3_000 } as const;
/** A provider is asked, up to three times in a row. */
const abroad = { callers: ['gateway'], timeoutMs: 25_000 } as const;
const providerFailures = [
  'upstream_unreachable',
  'upstream_refused_address',
  'upstream_incomplete',
  'upstream_timeout',
] as const;

/** The service that a credential is let go to the hosts of: policy is asked whether it has them. */
export const connectedAt = { template: templateReference, baseUrl: z.string().max(2000) };

/** The part of the executor's contract about connections and provider apps. */
export const connectionEndpoints = {
  /** Which of these connections exist for this user, in which state, and where their tokens may go. No tokens. */
  describeConnections: {
    request: z.strictObject({
      orgId: id,
      userId: id,
      names: z.array(nameReference).min(1).max(20),
    }),
    response: z.strictObject({
      connections: z.array(
        z.strictObject({
          /** The name as it was asked for, and as it stands in permission keys (`org/` for the org's). */
          asked: nameReference,
          reference: nameReference,
          id,
          provider: z.string().max(100),
          status: connectionStatus,
          allowedHosts: z.array(host),
          grantedScopes: z.array(z.string()),
          /** Where its owner completes or repairs it. */
          authUrl: z.string(),
        }),
      ),
    }),
    errors: [],
    callers: ['policy', 'registry'],
    timeoutMs: 2_000,
  },
  /** Connecting a service adds its hosts to the connection when the caller may write it; else `host_not_allowed`. */
  allowConnectionHosts: {
    request: asked.extend({
      reference: nameReference,
      hosts: z.array(host).min(1).max(50),
      ...connectedAt,
    }),
    response: done,
    errors: ['credential_missing', 'host_not_allowed'],
    callers: ['registry'],
    timeoutMs: 4_000,
  },
  listConnections: {
    request: asked.extend({ page: pageRequest }),
    response: pageSchemaOf(connection),
    errors: [],
    ...quick,
  },
  getConnection: {
    request: asked.extend({ id }),
    response: connection,
    errors: ['not_found'],
    ...quick,
  },
  /** Asks for access, for a user itself or for an agent of it; the owner completes it in its browser. */
  createConnection: {
    request: change.extend({ body: createConnectionBody }),
    response: askedConnection,
    errors: ['forbidden', 'not_found', 'conflict', 'invalid_params', 'rate_limited'],
    callers: ['gateway'],
    timeoutMs: 6_000,
  },
  refreshConnection: {
    request: change.extend({ id }),
    response: connection,
    errors: [
      'not_found',
      'forbidden',
      'needs_authentication',
      'conflict',
      'reauth_required',
      ...providerFailures,
    ],
    ...abroad,
  },
  deleteConnection: {
    request: change.extend({ id }),
    response: done,
    errors: ['not_found', 'forbidden'],
    ...abroad,
  },
  /** What the owner reads before going to the provider. Only for who may complete it. */
  showConnectionFlow: {
    request: asked.extend({ id }),
    response: z.strictObject({
      connection,
      providerTitle: z.string().max(100),
      /** Scheme and host that the browser will go to. */
      providerOrigin: z.string().max(300),
      scopes: z.array(z.string().max(300)).max(200),
      hosts: z.array(host).max(200),
      askedBy: identityReference,
    }),
    errors: ['not_found', 'forbidden', 'expired', 'conflict'],
    ...quick,
  },
  /** The owner goes on: binds the flow to this browser session and answers where to send it. */
  beginConnectionFlow: {
    request: change.extend({ id }),
    response: z.strictObject({ url: z.string() }),
    errors: ['not_found', 'forbidden', 'expired', 'conflict'],
    ...quick,
  },
  /** A flow to repair a connection with what it had, or to add scopes; for the links of errors and events. */
  repairConnection: {
    request: change.extend({ id, scopes: z.array(oauthScope).max(100) }),
    response: z.strictObject({ flowId: id }),
    errors: ['not_found', 'forbidden', 'conflict', 'rate_limited'],
    ...quick,
  },
  /** Takes the provider's answer, once, in the browser session that began. */
  finishConnectionFlow: {
    request: change.extend({
      provider: name,
      /** The query of the callback, as it came. */
      query: z.string().max(8_000),
    }),
    response: z.strictObject({
      connection,
      providerTitle: z.string().max(100),
      /** Asked for and not granted. */
      missingScopes: z.array(z.string().max(300)).max(200),
    }),
    errors: ['expired', 'forbidden', 'conflict', ...providerFailures],
    ...abroad,
  },
  listOauthApps: {
    request: asked,
    response: z.strictObject({ items: z.array(oauthApp).max(500) }),
    errors: [],
    ...quick,
  },
  getOauthApp: {
    request: asked.extend({ provider: name }),
    response: oauthApp,
    errors: ['not_found'],
    ...quick,
  },
  /** The one message in which a client secret crosses the bus. */
  putOauthApp: {
    request: change.extend({ provider: name, body: oauthAppBody }),
    response: oauthApp,
    errors: ['forbidden', 'conflict', 'invalid_params'],
    ...abroad,
  },
  deleteOauthApp: {
    request: change.extend({ provider: name }),
    response: done,
    errors: ['forbidden', 'not_found', 'conflict'],
    ...quick,
  },
} as const satisfies Record<string, EndpointSpec>;
