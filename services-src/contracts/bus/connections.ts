import { z } from 'zod';

import { accountPin, accountValue, accountValuesMax } from '../account-value.ts';
import { templateReference } from '../call.ts';
import type { EndpointSpec } from '../define.ts';
import {
  requestedConnection,
  connection,
  connectionStatus,
  createConnectionBody,
} from '../http/connections.ts';
import { oauthApp, oauthAppBody } from '../http/oauth-apps.ts';
import { tokenActor, oauthScope } from '../oauth-provider.ts';
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
  timestamp,
} from '../vocabulary.ts';

const emptyReply = z.strictObject({});
const principalRequest = z.strictObject({ principal: signedPrincipal });
const changeRequest = principalRequest.extend({ context: callContext });

const quickEndpointOptions = { callers: ['gateway'], timeoutMs: 3_000 } as const;
/** For endpoints that send up to three requests to a provider, one after the other. */
const providerEndpointOptions = { callers: ['gateway'], timeoutMs: 25_000 } as const;
const providerFailures = [
  'upstream_unreachable',
  'upstream_refused_address',
  'upstream_incomplete',
  'upstream_timeout',
] as const;

/**
 * The service to which a credential would be sent. The executor asks policy whether the given hosts
 * are the service's hosts.
 */
export const connectedServiceFields = {
  template: templateReference,
  baseUrl: z.string().max(2000),
};

/** The part of the executor's contract about connections and provider apps. */
export const connectionEndpoints = {
  /**
   * Which of these connections this user has, in which state they are, and where their tokens may
   * go. The answer contains no tokens.
   */
  describeConnections: {
    request: z.strictObject({
      orgId: id,
      userId: id,
      names: z.array(nameReference).min(1).max(20),
    }),
    response: z.strictObject({
      connections: z.array(
        z.strictObject({
          /**
           * `asked` is the name that the caller used. `reference` is the name in permission keys
           * (`org/…` for a connection of the org).
           */
          asked: nameReference,
          reference: nameReference,
          id,
          provider: z.string().max(100),
          status: connectionStatus,
          allowedHosts: z.array(host),
          grantedScopes: z.array(z.string()),
          /**
           * Set when the provider does not tell which scopes its tokens have, so that no scope
           * counts as missing.
           */
          hasOpaqueScopes: z.literal(true).optional(),
          /** Who acts by the token, if the provider issues several kinds of tokens. */
          actsAs: tokenActor.nullable().optional(),
          /**
           * The value of the account to which the token is bound, and so the base URLs to which it
           * may go.
           */
          pin: accountPin.nullable().optional(),
          /** The page on which the owner completes or repairs the connection. */
          authUrl: z.string(),
          /**
           * When the provider refused the token; null when it has not done so since the last
           * success.
           */
          refusedAt: timestamp.nullable().optional(),
        }),
      ),
    }),
    errors: [],
    callers: ['policy', 'registry'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  /**
   * Adds the hosts of a service that is being connected to the connection, if the caller may write
   * it; otherwise throws `host_not_allowed`.
   */
  allowConnectionHosts: {
    request: principalRequest.extend({
      reference: nameReference,
      hosts: z.array(host).min(1).max(50),
      ...connectedServiceFields,
    }),
    response: emptyReply,
    errors: ['credential_missing', 'host_not_allowed'],
    callers: ['registry'],
    timeoutMs: 4_000,
    repeatable: false,
  },
  listConnections: {
    request: principalRequest.extend({ page: pageRequest }),
    response: pageSchemaOf(connection),
    errors: [],
    ...quickEndpointOptions,
    repeatable: true,
  },
  getConnection: {
    request: principalRequest.extend({ id }),
    response: connection,
    errors: ['not_found'],
    ...quickEndpointOptions,
    repeatable: true,
  },
  /** Requests a connection for a user or one of its agents; the owner completes it in a browser. */
  createConnection: {
    request: changeRequest.extend({ body: createConnectionBody }),
    response: requestedConnection,
    errors: ['forbidden', 'not_found', 'conflict', 'invalid_params', 'rate_limited'],
    callers: ['gateway'],
    timeoutMs: 6_000,
    repeatable: false,
  },
  refreshConnection: {
    request: changeRequest.extend({ id }),
    response: connection,
    errors: [
      'not_found',
      'forbidden',
      'needs_authentication',
      'conflict',
      'reauth_required',
      ...providerFailures,
    ],
    ...providerEndpointOptions,
    repeatable: false,
  },
  deleteConnection: {
    request: changeRequest.extend({ id }),
    response: emptyReply,
    errors: ['not_found', 'forbidden'],
    ...providerEndpointOptions,
    repeatable: false,
  },
  /**
   * The text that the owner reads before going to the provider. Only users who may complete the
   * connection get it.
   */
  showConnectionFlow: {
    request: principalRequest.extend({ id }),
    response: z.strictObject({
      connection,
      providerTitle: z.string().max(100),
      /** Scheme and host of the provider's page to which the browser will go. */
      providerOrigin: z.string().max(300),
      scopes: z.array(z.string().max(300)).max(200),
      hosts: z.array(host).max(200),
      askedBy: identityReference,
    }),
    errors: ['not_found', 'forbidden', 'expired', 'conflict'],
    ...quickEndpointOptions,
    repeatable: true,
  },
  /**
   * Called when the owner continues: binds the OAuth flow to this browser session and answers the
   * URL to which the browser must go.
   */
  beginConnectionFlow: {
    request: changeRequest.extend({ id }),
    response: z.strictObject({ url: z.string() }),
    errors: ['not_found', 'forbidden', 'expired', 'conflict'],
    ...quickEndpointOptions,
    repeatable: false,
  },
  /**
   * Starts an OAuth flow that renews a connection with its present scopes, or with more scopes.
   * Errors and events link to it.
   */
  repairConnection: {
    request: changeRequest.extend({ id, scopes: z.array(oauthScope).max(100) }),
    response: z.strictObject({ flowId: id }),
    errors: ['not_found', 'forbidden', 'conflict', 'rate_limited'],
    ...quickEndpointOptions,
    repeatable: false,
  },
  /**
   * Takes the provider's answer to an OAuth flow, once, in the browser session that began the flow.
   */
  finishConnectionFlow: {
    request: changeRequest.extend({
      provider: name,
      /** The query of the callback URL, unchanged. */
      query: z.string().max(8_000),
      /**
       * Whether the caller can show `choices` to a person. If not, an account with several values
       * is an error.
       */
      canChoose: z.literal(true).optional(),
      /** The value that the person picked. `query` then holds only the `state`. */
      chosen: z.string().max(128).optional(),
    }),
    response: z.strictObject({
      connection,
      providerTitle: z.string().max(100),
      /** Scopes that were requested and not granted. */
      missingScopes: z.array(z.string().max(300)).max(200),
      /** Set when some of these scopes were also requested and left out earlier. */
      isRepeated: z.literal(true).optional(),
      /**
       * The sites, companies or tenants to which the account gives access. Nothing is connected
       * until the person has picked one.
       */
      choices: z.array(accountValue).min(2).max(accountValuesMax).optional(),
    }),
    errors: ['expired', 'forbidden', 'conflict', ...providerFailures],
    ...providerEndpointOptions,
    repeatable: false,
  },
  listOauthApps: {
    request: principalRequest,
    response: z.strictObject({ items: z.array(oauthApp).max(500) }),
    errors: [],
    ...quickEndpointOptions,
    repeatable: true,
  },
  getOauthApp: {
    request: principalRequest.extend({ provider: name }),
    response: oauthApp,
    errors: ['not_found'],
    ...quickEndpointOptions,
    repeatable: true,
  },
  /** Stores an org's OAuth app. No other message on the bus contains a client secret. */
  putOauthApp: {
    request: changeRequest.extend({ provider: name, body: oauthAppBody }),
    response: oauthApp,
    errors: ['forbidden', 'conflict', 'invalid_params'],
    ...providerEndpointOptions,
    repeatable: false,
  },
  deleteOauthApp: {
    request: changeRequest.extend({ provider: name }),
    response: emptyReply,
    errors: ['forbidden', 'not_found', 'conflict'],
    ...quickEndpointOptions,
    repeatable: false,
  },
} as const satisfies Record<string, EndpointSpec>;
