import type { Injection } from '#contracts/permit';
import { AppError } from '#errors';
import type { ErrorDetails } from '#errors';
import { missingScopes, scopeRowOf, tokenHeaderOf } from '#providers';
import { isWithin } from '#templates';
import type { ConnectionDescription, Lookups, Owner } from '../deps.ts';
import { mayGoTo } from '../services/domain/hosts.ts';

interface TokenUse {
  readonly host: string;
  /**
   * The URL of the call, or the base URL of its service. Null if only the executor knows the URL.
   */
  readonly url: string | null;
  /** Set if the address of the service depends on the account of the connection. */
  readonly ofAccount?: { readonly template: string } | undefined;
  /** Alternative lists of OAuth scopes. The call needs all scopes of one list. */
  readonly scopeNeeds: readonly (readonly string[])[];
}

/**
 * Finds the connection that a call to a full URL (raw call) names. Throws a typed error for a
 * connection that cannot work.
 */
export async function findCallConnection(
  lookups: Lookups,
  { owner, name, host, url }: { owner: Owner; name: string | undefined; host: string; url: string },
): Promise<Injection[]> {
  if (name === undefined) return [];
  const connection = findConnection(await lookups.describeConnections(owner, [name]), name);
  if (connection === undefined) throw connectionMissingError(name);
  const refusal = refusalOfConnection(connection, { host, url, scopeNeeds: [] });
  if (refusal !== undefined) throw refusal;
  return [injectionOfToken(connection)];
}

export function findConnection(
  connectionDescriptions: readonly ConnectionDescription[],
  reference: string,
): ConnectionDescription | undefined {
  return connectionDescriptions.find(({ asked }) => asked === reference);
}

/** The error if the connection's access token cannot be used now; otherwise undefined. */
export function refusalOfConnection(
  connection: ConnectionDescription,
  use: TokenUse,
): AppError | undefined {
  const { host, scopeNeeds } = use;
  const { reference, provider, grantedScopes, hasOpaqueScopes = false } = connection;
  const statusRefusal = refusalOfStatus(connection);
  if (statusRefusal !== undefined) return statusRefusal;
  // Every connection has a list of hosts, and its token may go only to these hosts.
  if (!mayGoTo(connection, host, { isKeyed: false })) {
    return new AppError(
      'host_not_allowed',
      `The connection "${reference}" may not be used for ${host}. Its owner can add the host to it.`,
      { details: { connection: reference, host } },
    );
  }
  const misplaced = refusalOfPlace(connection, use);
  if (misplaced !== undefined) return misplaced;
  const needOfConnection = { granted: grantedScopes, alternatives: scopeNeeds };
  const lacking = hasOpaqueScopes ? [] : missingScopes(scopeRowOf(provider), needOfConnection);
  if (lacking.length === 0) return undefined;
  return new AppError(
    'missing_scopes',
    `The connection "${reference}" was not granted ${lacking.join(', ')}. Have its owner grant it at auth_url, then call again.`,
    {
      details: {
        missing: lacking,
        connection: reference,
        ...repairDetailsOf(connection, lacking),
      },
    },
  );
}

/**
 * The error if the token gives access to several sites, companies or tenants of the account and the
 * call goes to another one than the connection is bound to
 * (docs/reference/credentials.md#one-of-several). Neither the registry nor a template can bind the
 * connection to another one, because the executor stores which one it is.
 */
function refusalOfPlace(
  { reference, pin = null }: ConnectionDescription,
  { url, ofAccount }: TokenUse,
): AppError | undefined {
  if (pin === null) {
    if (ofAccount === undefined) return undefined;
    const { template } = ofAccount;
    return new AppError(
      'credential_missing',
      `The connection "${reference}" is not bound to what the service is for: it was made without the template ${template}. Connect it again with the template under the same name, then call again.`,
      { details: { connection: reference, template, stored: true } },
    );
  }
  if (url === null || isWithin(pin.baseUrls, url)) return undefined;
  return new AppError(
    'host_not_allowed',
    `The connection "${reference}" opens ${pin.label} only, and this call goes elsewhere. Make another connection for it.`,
    { details: { connection: reference, account_value: pin.value } },
  );
}

/** The injection of a connection's token into the request header that its provider expects. */
export function injectionOfToken({ id, reference, provider }: ConnectionDescription): Injection {
  const { name, prefix } = tokenHeaderOf(provider);
  return {
    kind: 'connection',
    credentialId: id,
    credentialName: reference,
    in: 'header',
    key: name,
    prefix,
    encoding: 'raw',
  };
}

/**
 * If `template` is given, no connection has this name. A connection for the template can then be
 * requested.
 */
export function connectionMissingError(
  connection: string,
  { service, template }: { service?: string; template?: string } = {},
): AppError {
  const subject = service === undefined ? 'The call' : `The service ${service}`;
  return new AppError(
    'credential_missing',
    `${subject} needs the connection "${connection}". Connect it or ask its owner to, then call again.`,
    { details: { connection, ...(template === undefined ? {} : { template, stored: false }) } },
  );
}

function refusalOfStatus(connection: ConnectionDescription): AppError | undefined {
  const { status, reference } = connection;
  switch (status) {
    case 'active':
      return undefined;
    case 'pending':
      return new AppError(
        'needs_authentication',
        `The connection "${reference}" waits for its owner to authorise it at auth_url. Call again afterwards.`,
        { details: repairDetailsOf(connection) },
      );
    case 'needs_reauth':
      return new AppError(
        'reauth_required',
        `The provider no longer accepts the connection "${reference}". Have its owner authorise it again at auth_url, then call again.`,
        { details: repairDetailsOf(connection) },
      );
    case 'revoked':
      return connectionMissingError(reference);
  }
}

function repairDetailsOf(
  { id, authUrl }: ConnectionDescription,
  scopes: readonly string[] = [],
): ErrorDetails {
  const query = scopes.length === 0 ? '' : `?scope=${encodeURIComponent(scopes.join(' '))}`;
  return { auth_url: authUrl + query, connection_id: id };
}
