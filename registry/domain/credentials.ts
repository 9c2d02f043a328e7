import type { ConnectedService, MissingCredential } from '#contracts/http/services';

/** What a service authenticates with, by references (`github_token`, `org/github_token`). */
export interface Credentials {
  /** By security scheme. */
  readonly secrets: Readonly<Record<string, string>>;
  /** For its OAuth schemes; null when it uses none of them. */
  readonly connection: string | null;
}

export interface ExistingSecret {
  /** As it stands in permission keys: `github_token`, or `org/github_token` for the org's. */
  readonly reference: string;
  readonly allowedHosts: readonly string[];
}

export interface ExistingConnection extends ExistingSecret {
  readonly provider: string;
  readonly status: 'pending' | 'active' | 'needs_reauth' | 'revoked';
  /** Where its owner completes or repairs it. */
  readonly authUrl: string;
}

/** Credentials that are there, by the reference as it was asked for. */
export interface ExistingCredentials {
  readonly secrets: ReadonlyMap<string, ExistingSecret>;
  readonly connections: ReadonlyMap<string, ExistingConnection>;
}

/** Whether a service can authenticate now, in the words of its `status`. */
export function readinessOf(
  { secrets, connection }: Credentials,
  existing: ExistingCredentials,
): Exclude<ConnectedService['status'], 'disabled'> {
  const status = connection === null ? 'active' : existing.connections.get(connection)?.status;
  const hasSecrets = Object.values(secrets).every((reference) => existing.secrets.has(reference));
  if (hasSecrets && status === 'active') return 'ready';
  return hasSecrets && status === 'needs_reauth' ? 'needs_reauth' : 'needs_credentials';
}

/** Which of them cannot be used now, and where that is mended. */
export function missingOf(
  { secrets, connection }: Credentials,
  existing: ExistingCredentials,
): MissingCredential[] {
  const missing: MissingCredential[] = [...new Set(Object.values(secrets))]
    .filter((reference) => !existing.secrets.has(reference))
    .map((name) => ({ kind: 'secret', name, status: 'absent' }));
  const found = connection === null ? undefined : existing.connections.get(connection);
  if (connection === null || found?.status === 'active') return missing;
  const status = found?.status ?? 'absent';
  const isMended = status === 'pending' || status === 'needs_reauth';
  const link = found !== undefined && isMended ? { auth_url: found.authUrl } : {};
  return [...missing, { kind: 'connection', name: connection, status, ...link }];
}
