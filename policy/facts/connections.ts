import type { Injection } from '#contracts/permit';
import { AppError } from '#errors';
import type { ErrorDetails } from '#errors';
import { mayGoTo } from '../domain/hosts.ts';
import type { ConnectionDescription, Lookups, Owner } from '../lookups/lookups.ts';

interface Use {
  readonly host: string;
  /** OAuth scopes that the call needs; null: none beyond an active connection. */
  readonly minimumScopes: readonly string[] | null;
}

/** The connection that a raw call asks for itself; typed errors for one that cannot work. */
export async function findCallConnection(
  lookups: Lookups,
  { owner, name, host }: { owner: Owner; name: string | undefined; host: string },
): Promise<Injection[]> {
  if (name === undefined) return [];
  const connection = findConnection(await lookups.describeConnections(owner, [name]), name);
  if (connection === undefined) throw connectionMissing(name, null);
  const refusal = refusalOfConnection(connection, { host, minimumScopes: null });
  if (refusal !== undefined) throw refusal;
  return [injectionOfToken(connection)];
}

export function findConnection(
  known: readonly ConnectionDescription[],
  reference: string,
): ConnectionDescription | undefined {
  return known.find(({ asked }) => asked === reference);
}

/** Why the access token of a connection cannot be used now; undefined when it can. */
export function refusalOfConnection(
  connection: ConnectionDescription,
  { host, minimumScopes }: Use,
): AppError | undefined {
  const { reference, grantedScopes } = connection;
  const inactive = refusalOfStatus(connection);
  if (inactive !== undefined) return inactive;
  // Connections always have a list: their tokens go nowhere else.
  if (!mayGoTo(connection, host, { isKeyed: false })) {
    return new AppError(
      'host_not_allowed',
      `The connection "${reference}" may not be used for ${host}. Its owner can add the host to it.`,
      { details: { connection: reference, host } },
    );
  }
  const lacking = (minimumScopes ?? []).filter((scope) => !grantedScopes.includes(scope));
  if (lacking.length === 0) return undefined;
  return new AppError(
    'missing_scopes',
    `The connection "${reference}" was not granted ${lacking.join(', ')}. Have its owner grant it at auth_url, then call again.`,
    { details: { missing: lacking, ...repairOf(connection, lacking) } },
  );
}

/** As for a secret: who gets the token is the executor's to know. */
export function injectionOfToken({ id, reference }: ConnectionDescription): Injection {
  return {
    kind: 'connection',
    credentialId: id,
    credentialName: reference,
    in: 'header',
    key: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw',
  };
}

export function connectionMissing(connection: string, service: string | null): AppError {
  const whose = service === null ? 'The call' : `The service ${service}`;
  return new AppError(
    'credential_missing',
    `${whose} needs the connection "${connection}". Connect it or ask its owner to, then call again.`,
    { details: { connection } },
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
        { details: repairOf(connection) },
      );
    case 'needs_reauth':
      return new AppError(
        'reauth_required',
        `The provider no longer accepts the connection "${reference}". Have its owner authorise it again at auth_url, then call again.`,
        { details: repairOf(connection) },
      );
    case 'revoked':
      return connectionMissing(reference, null);
  }
}

function repairOf(
  { id, authUrl }: ConnectionDescription,
  scopes: readonly string[] = [],
): ErrorDetails {
  const query = scopes.length === 0 ? '' : `?${new URLSearchParams({ scope: scopes.join(' ') })}`;
  return { auth_url: authUrl + query, connection_id: id };
}
