import type { AccountPin } from '#contracts/account-value';
import type { TokenActor } from '#contracts/oauth-provider';
import type {
  ConnectedService,
  MissingCredential,
  RefusedCredential,
} from '#contracts/http/services';

/** The credentials that a service uses, as references (`github_token`, `org/github_token`). */
export interface Credentials {
  /** A secret reference for each security scheme that needs a secret. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The connection for the OAuth schemes; null when the service uses no OAuth scheme. */
  readonly connection: string | null;
  /**
   * The security schemes of the alternative by which the service is connected. Absent when an
   * earlier release, which did not record them, connected the service.
   */
  readonly schemes?: readonly string[];
}

export interface ExistingSecret {
  /**
   * The reference in the form that permission keys use: `github_token`, or `org/github_token` for a
   * secret of the org.
   */
  readonly reference: string;
  readonly allowedHosts: readonly string[];
  /**
   * When the provider refused the credential; null when it has not done so since the last success.
   */
  readonly refusedAt: string | null;
}

export interface ExistingConnection extends ExistingSecret {
  readonly provider: string;
  readonly actsAs: TokenActor | null;
  /**
   * The site, company or tenant to which the credential is bound, if an account can have several.
   */
  readonly pin?: AccountPin | null;
  readonly status: 'pending' | 'active' | 'needs_reauth' | 'revoked';
  /** The page where the owner can complete or repair the connection. */
  readonly authUrl: string;
}

/** The credentials that exist, of those that the registry asked about, by their references. */
export interface ExistingCredentials {
  readonly secrets: ReadonlyMap<string, ExistingSecret>;
  readonly connections: ReadonlyMap<string, ExistingConnection>;
}

/**
 * Whether the credentials of a service work now. The result becomes part of the service's `status`.
 */
export function readinessOf(
  { secrets, connection }: Credentials,
  existingCredentials: ExistingCredentials,
): Exclude<ConnectedService['status'], 'disabled'> {
  const status =
    connection === null ? 'active' : existingCredentials.connections.get(connection)?.status;
  const hasSecrets = Object.values(secrets).every((reference) =>
    existingCredentials.secrets.has(reference),
  );
  if (hasSecrets && status === 'active') return 'ready';
  return hasSecrets && status === 'needs_reauth' ? 'needs_reauth' : 'needs_credentials';
}

/**
 * The credentials of a service that do not work now, each with the page where a person can repair
 * it.
 */
export function missingCredentialsOf(
  { secrets, connection }: Credentials,
  existingCredentials: ExistingCredentials,
): MissingCredential[] {
  const missingCredentials: MissingCredential[] = [...new Set(Object.values(secrets))]
    .filter((reference) => !existingCredentials.secrets.has(reference))
    .map((name) => ({ kind: 'secret', name, status: 'absent' }));
  const connectionState =
    connection === null ? undefined : existingCredentials.connections.get(connection);
  if (connection === null || connectionState?.status === 'active') return missingCredentials;
  const status = connectionState?.status ?? 'absent';
  const isRepairable = status === 'pending' || status === 'needs_reauth';
  const repairLink =
    connectionState !== undefined && isRepairable ? { auth_url: connectionState.authUrl } : {};
  return [...missingCredentials, { kind: 'connection', name: connection, status, ...repairLink }];
}

/** The credentials of a service that the provider refused. */
export function refusedCredentialsOf(
  { secrets, connection }: Credentials,
  existingCredentials: ExistingCredentials,
): RefusedCredential[] {
  const refusedSecrets = [...new Set(Object.values(secrets))].map((name) =>
    refusedOrNone('secret', name, existingCredentials.secrets.get(name)),
  );
  if (connection === null) return refusedSecrets.flat();
  const connectionState = existingCredentials.connections.get(connection);
  return [...refusedSecrets, refusedOrNone('connection', connection, connectionState)].flat();
}

function refusedOrNone(
  kind: RefusedCredential['kind'],
  name: string,
  existingSecret: ExistingSecret | undefined,
): RefusedCredential[] {
  const refusedAt = existingSecret?.refusedAt ?? null;
  return refusedAt === null ? [] : [{ kind, name, refused_at: refusedAt }];
}
