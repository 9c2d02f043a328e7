import type { McpConnection, OauthClient } from '#contracts/http/oauth-clients';

/** Records which agent an OAuth client of a user acts as. */
export interface Binding {
  readonly orgId: string;
  readonly userId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly agentId: string;
  readonly selfApproveEnabled: boolean;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

/** A client with its bindings in one org. */
export interface OrgClient {
  readonly id: string;
  readonly kind: OauthClient['kind'];
  readonly name: string;
  readonly softwareId: string | null;
  readonly redirectUris: readonly string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  readonly bindingsCount: number;
  /** The latest bindings of the client, in their public form. */
  readonly bindings: OauthClient['bindings'];
}

const redirectHostsMax = 20;

export function presentConnection(binding: Binding): McpConnection {
  return {
    client_id: binding.clientId,
    client_name: binding.clientName,
    agent_id: binding.agentId,
    self_approve_enabled: binding.selfApproveEnabled,
    created_at: binding.createdAt.toISOString(),
    last_used_at: binding.lastUsedAt?.toISOString() ?? null,
  };
}

export function presentClient(client: OrgClient): OauthClient {
  return {
    id: client.id,
    kind: client.kind,
    name: client.name,
    software_id: client.softwareId,
    redirect_hosts: redirectHostsOf(client.redirectUris),
    created_at: client.createdAt.toISOString(),
    last_used_at: client.lastUsedAt?.toISOString() ?? null,
    revoked_at: client.revokedAt?.toISOString() ?? null,
    bindings_count: client.bindingsCount,
    bindings: [...client.bindings],
  };
}

/**
 * The hosts of redirect URIs. For applications on the user's device, the scheme instead
 * (`cursor:`).
 */
export function redirectHostsOf(redirectUris: readonly string[]): string[] {
  const hosts = redirectUris.flatMap((uri) => {
    const url = URL.parse(uri);
    if (url === null) return [];
    return [/^https?:$/.test(url.protocol) ? url.host : url.protocol];
  });
  return [...new Set(hosts)].slice(0, redirectHostsMax);
}
