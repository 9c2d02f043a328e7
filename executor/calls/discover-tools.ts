import type { Deadline } from '#bus';
import type { ToolDiscovery } from '#contracts/mcp';
import type { Injection } from '#contracts/permit';
import { AppError } from '#errors';
import { loadCredentials } from '../sending/load-credentials.ts';
import { renewCredentials } from '../sending/renew-credentials.ts';
import { sendingTimeMs } from '../sending/send.ts';
import type { Deps } from '../deps.ts';
import type { Credential } from '../request/domain/inject.ts';
import { removeCredentials } from '../sending/domain/without-credentials.ts';
import { discoverTools } from '../mcp/tools.ts';
import { describeConnections } from '../connections/describe-connections.ts';
import { describeSecrets } from '../secrets/describe-secrets.ts';

interface DiscoverFields {
  readonly orgId: string;
  readonly userId: string | null;
  readonly url: string;
  readonly credential: NamedCredential | null;
}

interface NamedCredential {
  readonly kind: Injection['kind'];
  readonly reference: string;
}

const discoveryTimeoutMs = 20_000;
/**
 * No user has this id. It stands for the owner of an org's service: discovery for it never uses a
 * user's own credentials.
 */
const noUserId = '00000000-0000-0000-0000-000000000000';

/** Lists the tools of an MCP server, using the credential that calls to this server use. */
export async function discoverServerTools(
  deps: Deps,
  { orgId, userId: owner, url, credential }: DiscoverFields,
  deadline: Deadline,
): Promise<ToolDiscovery> {
  const userId = owner ?? noUserId;
  using slot = deps.slots.take({ orgId, userId, identityId: userId });
  await slot.enterUpstream(url);
  const injections =
    credential === null ? [] : [await loadBearer(deps, { orgId, userId, credential })];
  const discoveryPermit = { orgId, userId, injections, target: { kind: 'raw' as const }, keys: [] };
  const credentials = await loadCredentials(deps, { permit: discoveryPermit, url }, deadline);
  const endsAt = performance.now() + sendingTimeMs(discoveryTimeoutMs, deadline);
  const timeoutMs = () => Math.max(1, endsAt - performance.now());
  const listTools = async (by: readonly Credential[]) => {
    const discovery = await discoverTools(deps.egress, {
      server: { url, credentials: by },
      timeoutMs,
    });
    return removeCredentials(discovery, [...credentials, ...by]);
  };
  try {
    return await listTools(credentials);
  } catch (error) {
    // The server may have revoked the token before it expired. A refresh may give a valid one.
    if (AppError.from(error).details['status_code'] !== 401) throw error;
    const refusedRequest = { permit: discoveryPermit, prepared: { request: { url } }, credentials };
    const renewedCredentials = await renewCredentials(deps, refusedRequest, {
      status: 401,
      leftMs: timeoutMs(),
    });
    if (renewedCredentials === undefined) throw error;
    return listTools(renewedCredentials);
  }
}

async function loadBearer(
  deps: Deps,
  { orgId, userId, credential }: { orgId: string; userId: string; credential: NamedCredential },
): Promise<Injection> {
  const { kind, reference: name } = credential;
  const credentialQuery = { orgId, userId, names: [name] };
  const [found] =
    kind === 'secret'
      ? (await describeSecrets(deps, credentialQuery)).secrets
      : (await describeConnections(deps, credentialQuery)).connections;
  if (found === undefined) {
    const remedy = kind === 'secret' ? 'Store the secret' : 'Connect';
    const details = { [kind]: name };
    throw new AppError('credential_missing', `${remedy} "${name}" first.`, { details });
  }
  return {
    kind,
    credentialId: found.id,
    credentialName: found.reference,
    in: 'header',
    key: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw',
  };
}
