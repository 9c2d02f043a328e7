import { z } from 'zod';

import type { CallFailure } from '#contracts/failure';
import type { NextRequest } from '#contracts/http/next';
import type { PendingApproval } from '#contracts/http/approvals';
import { oauthScope } from '#contracts/oauth-provider';
import type { ErrorCode, ErrorDetails } from '#errors';

/** A call of one of the gateway's MCP tools. */
export interface NextToolCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly say?: string;
}

/**
 * The one step to take after an answer, for clients of REST and of MCP. A member is null if these
 * clients have no such step (docs/reference/calling.md#next).
 */
export interface NextStep {
  readonly request: NextRequest | null;
  readonly toolCall: NextToolCall | null;
}

/**
 * How long a client should wait before it asks again for a suspended call. People take minutes to
 * decide.
 */
export const pollAfterMs = 5_000;

const queryMax = 200;
const serviceNameMax = 63;
const scopesMax = 100;

/** Returns the step after an error, or undefined if no single step is known to help. */
export function nextAfterError({
  code,
  details,
}: {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
}): NextStep | undefined {
  switch (code) {
    case 'unknown_service':
      return nextAfterUnknownService(details);
    case 'needs_authentication':
      return typeof details['auth_url'] === 'string' ? showAuthUrl : undefined;
    case 'upstream_incomplete':
    case 'upstream_unreachable':
      return typeof details['auth_url'] === 'string' ? callAgainOrShowAuthUrl : undefined;
    case 'reauth_required':
      if (typeof details['auth_url'] === 'string') return showAuthUrl;
      return typeof details['secret'] === 'string'
        ? requestNewValue({ name: details['secret'] })
        : undefined;
    case 'conflict':
      return typeof details['refused_secret'] === 'string'
        ? requestNewValue({ name: details['refused_secret'] })
        : undefined;
    case 'missing_scopes':
      return nextAfterMissingScopes(details);
    case 'credential_missing':
      return nextAfterMissingCredential(details);
    case 'expired':
      return nextAfterExpired(details);
    default:
      return undefined;
  }
}

/**
 * Returns the step after the provider did not do what it was asked to do, or undefined if no step
 * is known to help. The step contains none of the provider's words: the executor names a connection
 * only for scopes that the template lists. `service` is undefined if it is not known. After a call
 * of the service `http` there is no state to look at.
 */
export function nextAfterFailure(
  { kind, missing_scopes: scopes, connection_id: connection, secret }: CallFailure,
  service?: string,
): NextStep | undefined {
  if (kind === 'credential_refused' && secret !== undefined) return requestNewValue(secret);
  if (kind === 'credential_refused') return service === 'http' ? undefined : showRefused(service);
  if (scopes === undefined || connection === undefined) return undefined;
  return requestScopes({ connection, scopes });
}

/**
 * Returns the step after a suspended call: a request for its state. This request also runs the call
 * once it is allowed.
 */
export function nextAfterSuspension({ approval_id }: Pick<PendingApproval, 'approval_id'>) {
  const say = 'Show approval_url to the user, who decides there; then send this.';
  return {
    request: { method: 'POST', path: '/v1/actions/call', body: { approval_id }, say },
    toolCall: { tool: 'service_call', arguments: { approval_id }, say },
  } as const satisfies NextStep;
}

/**
 * Returns the step after a search that found nothing: a search that also lists services that are
 * not connected yet. A model that finds nothing gives up unless it is told what else there is.
 */
export function nextAfterEmptySearch(query: string) {
  const say =
    'No connected service fits. This searches those that can be connected; ask for one with service_auth (request_service).';
  return searchCatalog(query, {
    say,
    sayRest: 'No connected service fits. Ask for one of these with POST /v1/requests.',
  });
}

/**
 * Returns the step if an open request lacks some of the actions that its requester wants now. The
 * requester withdraws it and then requests all actions. Other agents cannot withdraw it; when they
 * call an action later, its error names what is missing.
 */
export function nextAfterActionsLeftOut({ id }: { readonly id: string }): NextStep {
  const say =
    'This takes the open request back. Then ask again with all the actions, and show the new url; or leave it and show this url.';
  return {
    request: { method: 'POST', path: `/v1/requests/${id}/cancel`, say },
    toolCall: {
      tool: 'service_auth',
      arguments: { operation: 'cancel_request', request: id },
      say,
    },
  };
}

function nextAfterUnknownService({
  service,
  did_you_mean: suggestion,
}: ErrorDetails): NextStep | undefined {
  if (typeof suggestion === 'string') return searchIn({ service: suggestion });
  if (typeof service !== 'string') return undefined;
  const words = service.replace(/^org\//, '').replaceAll(/[_-]+/g, ' ');
  return searchCatalog(words, {
    say: 'Searches what can be connected; ask for it with service_auth (request_service).',
    sayRest: 'Searches what can be connected; ask for it with POST /v1/requests.',
  });
}

/** Only a person can sign in. The agent's step is therefore to look whether that has happened. */
const showAuthUrl: NextStep = {
  request: {
    method: 'GET',
    path: '/v1/connections',
    say: 'Show auth_url to the owner of the connection. Make the call again when its status is active.',
  },
  toolCall: {
    tool: 'service_auth',
    arguments: { operation: 'service_status' },
    say: 'Show auth_url to your user. Make the call again when nothing is missing.',
  },
};

/**
 * The provider refuses to refresh the access, but has not said that the access has ended. So the
 * call is first made again.
 */
const callAgainOrShowAuthUrl: NextStep = (() => {
  const say =
    'Make the call again in some minutes. If it fails like this again, show auth_url to the owner of the connection, who connects it again.';
  return {
    request: { method: 'GET', path: '/v1/connections', say },
    toolCall: { tool: 'service_auth', arguments: { operation: 'service_status' }, say },
  };
})();

/**
 * Returns the step after the provider refused a credential, which the caller cannot fix. The step
 * looks at the service, or at all services if it is not known; `refused` there tells since when the
 * credential is refused.
 */
function showRefused(service?: string): NextStep {
  const say =
    'Tell your user that the provider refuses the credential. Make the call again when its owner has checked it there, or stored or connected it again.';
  return {
    request: { method: 'GET', path: '/v1/services', say },
    toolCall: {
      tool: 'service_auth',
      arguments: { operation: 'service_status', ...(service === undefined ? {} : { service }) },
      say,
    },
  };
}

/**
 * Returns the step after the provider refused a secret: the owner of the secret is asked for a new
 * value.
 */
function requestNewValue(secret: NonNullable<CallFailure['secret']>): NextStep {
  return requestSecret(
    secret,
    'The provider refuses the secret. Show provide_url of the answer to its owner, who enters a new value there; then make the call again.',
  );
}

function requestSecret(
  { name, template }: { name: string; template?: string | undefined },
  say: string,
): NextStep {
  const fields = {
    name: name.replace(/^org\//, ''),
    ...(name.startsWith('org/') ? { tier: 'org' } : {}),
    // With the template, the page asks for each part of a secret of several parts.
    ...(template === undefined ? {} : { template }),
  };
  return {
    request: { method: 'POST', path: '/v1/secrets/requests', body: fields, say },
    toolCall: { tool: 'service_auth', arguments: { operation: 'request_secret', ...fields }, say },
  };
}

function nextAfterMissingScopes(details: ErrorDetails): NextStep | undefined {
  const { connect_as: connectAs, template, action, connection, connection_id: id } = details;
  if (typeof details['auth_url'] === 'string') {
    const missing = z.array(oauthScope).min(1).max(scopesMax).safeParse(details['missing']);
    // An agent cannot ask for an account of the org.
    const isOfUser = typeof connection === 'string' && !connection.startsWith('org/');
    return isOfUser && typeof id === 'string' && missing.success
      ? requestScopes({ connection: id, scopes: missing.data })
      : showAuthUrl;
  }
  const accountKind: unknown = Array.isArray(connectAs) ? connectAs[0] : undefined;
  if (typeof accountKind !== 'string' || typeof template !== 'string' || typeof action !== 'string')
    return undefined;
  const suffix = accountKind.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
  return requestService({
    template,
    name: `${template}_${suffix}`.slice(0, serviceNameMax),
    actions: [action],
    reason: `To call ${action}, which the connected account does not allow.`,
  });
}

function nextAfterMissingCredential({
  secret,
  connection,
  template,
  stored,
}: ErrorDetails): NextStep | undefined {
  // A secret or account can be requested only under a name under which nothing is stored.
  if (stored !== false) return undefined;
  if (typeof secret === 'string') {
    const say = 'Show provide_url of the answer to the user, who enters the value there.';
    return requestSecret(
      { name: secret, template: typeof template === 'string' ? template : undefined },
      say,
    );
  }
  if (typeof connection !== 'string' || typeof template !== 'string') return undefined;
  // An agent cannot ask for an account of the org.
  if (connection.startsWith('org/')) return undefined;
  const say = 'Show authorization_url of the answer to the user, who signs in there.';
  return requestConnection({ template, name: connection }, say);
}

function nextAfterExpired({ service, action }: ErrorDetails): NextStep | undefined {
  if (typeof service !== 'string' || typeof action !== 'string') return undefined;
  const say =
    'Make the call again if it is still needed, with a new idempotency key if it had one; this shows its parameters.';
  return searchIn({ service, action, say });
}

/**
 * Returns the step after a call that lacked scopes: the owner of the connection is asked for
 * exactly these scopes.
 */
function requestScopes(fields: { connection: string; scopes: string[] }): NextStep {
  const say =
    'Show authorization_url of the answer to the user, who grants the scopes there; then make the call again.';
  return requestConnection(fields, say);
}

function requestConnection(
  fields: { connection: string; scopes: string[] } | { template: string; name: string },
  say: string,
): NextStep {
  return {
    request: { method: 'POST', path: '/v1/connections', body: fields, say },
    toolCall: {
      tool: 'service_auth',
      arguments: { operation: 'request_connection', ...fields },
      say,
    },
  };
}

function requestService(fields: {
  template: string;
  name: string;
  actions: string[];
  reason: string;
}): NextStep {
  const say = 'Show url of the answer to the user, who connects the service there.';
  return {
    request: { method: 'POST', path: '/v1/requests', body: { kind: 'service', ...fields }, say },
    toolCall: {
      tool: 'service_auth',
      arguments: { operation: 'request_service', ...fields },
      say,
    },
  };
}

function searchIn({
  say,
  ...fields
}: {
  service: string;
  action?: string;
  say?: string;
}): NextStep {
  const sayField = say === undefined ? {} : { say };
  return {
    request: {
      method: 'GET',
      path: `/v1/search?${new URLSearchParams(fields).toString()}`,
      ...sayField,
    },
    toolCall: { tool: 'service_search', arguments: fields, ...sayField },
  };
}

function searchCatalog(query: string, { say, sayRest }: { say: string; sayRest: string }) {
  const words = query.slice(0, queryMax).toWellFormed();
  const search = new URLSearchParams({ ...(words === '' ? {} : { q: words }), catalog: 'true' });
  return {
    request: { method: 'GET', path: `/v1/search?${search.toString()}`, say: sayRest },
    toolCall: {
      tool: 'service_search',
      arguments: { ...(words === '' ? {} : { query: words }), catalog: true },
      say,
    },
  } as const satisfies NextStep;
}
