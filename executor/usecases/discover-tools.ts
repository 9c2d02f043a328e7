import type { Deadline } from '#bus';
import type { Discovered } from '#contracts/mcp';
import type { Injection } from '#contracts/permit';
import { AppError } from '#errors';
import { loadCredentials } from '../calls/credentials.ts';
import { renewRefused } from '../calls/refused-token.ts';
import { sendingTimeMs } from '../calls/send.ts';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import { withoutCredentials } from '../domain/without-credentials.ts';
import { discoverTools } from '../mcp/tools.ts';
import { describeConnections } from './describe-connections.ts';
import { describeSecrets } from './describe-secrets.ts';

interface DiscoverFields {
  readonly orgId: string;
  readonly userId: string | null;
  readonly url: string;
  readonly credential: Named | null;
}

interface Named {
  readonly kind: Injection['kind'];
  readonly reference: string;
}

const discoveryMs = 20_000;
/** No user has this id: for services of the org, which never use what is one user's. */
const nobody = '00000000-0000-0000-0000-000000000000';

/** Lists what an MCP server offers, with the credential that its calls will carry. */
export async function discoverServerTools(
  deps: Deps,
  { orgId, userId: owner, url, credential }: DiscoverFields,
  deadline: Deadline,
): Promise<Discovered> {
  const userId = owner ?? nobody;
  using slot = deps.slots.take({ orgId, userId, identityId: userId });
  await slot.enterUpstream(url);
  const injections =
    credential === null ? [] : [await bearerOf(deps, { orgId, userId, credential })];
  const facts = { orgId, userId, injections, target: { kind: 'raw' as const }, keys: [] };
  const credentials = await loadCredentials(deps, { facts, url }, deadline);
  const endsAt = performance.now() + sendingTimeMs(discoveryMs, deadline);
  const timeoutMs = () => Math.max(1, endsAt - performance.now());
  const list = async (by: readonly Credential[]) => {
    const found = await discoverTools(deps.egress, { server: { url, credentials: by }, timeoutMs });
    return withoutCredentials(found, [...credentials, ...by]);
  };
  try {
    return await list(credentials);
  } catch (thrown) {
    // The server may have ended the token early: there may be another one by now.
    if (AppError.from(thrown).details['status_code'] !== 401) throw thrown;
    const refused = { facts, prepared: { request: { url } }, credentials };
    const renewed = await renewRefused(deps, refused, { status: 401, leftMs: timeoutMs() });
    if (renewed === undefined) throw thrown;
    return list(renewed);
  }
}

async function bearerOf(
  deps: Deps,
  { orgId, userId, credential }: { orgId: string; userId: string; credential: Named },
): Promise<Injection> {
  const { kind, reference: name } = credential;
  const asked = { orgId, userId, names: [name] };
  const [found] =
    kind === 'secret'
      ? (await describeSecrets(deps, asked)).secrets
      : (await describeConnections(deps, asked)).connections;
  if (found === undefined) {
    const todo = kind === 'secret' ? 'Store the secret' : 'Connect';
    const details = { [kind]: name };
    throw new AppError('credential_missing', `${todo} "${name}" first.`, { details });
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
