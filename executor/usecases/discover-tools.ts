import type { Deadline } from '#bus';
import type { Discovered } from '#contracts/mcp';
import type { Injection } from '#contracts/permit';
import { AppError } from '#errors';
import { loadCredentials } from '../calls/credentials.ts';
import { sendingTimeMs } from '../calls/send.ts';
import type { Deps } from '../deps.ts';
import { discoverTools } from '../mcp/tools.ts';
import { describeSecrets } from './describe-secrets.ts';

interface DiscoverFields {
  readonly orgId: string;
  readonly userId: string | null;
  readonly url: string;
  readonly credential: { readonly kind: 'secret'; readonly reference: string } | null;
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
  using _slot = deps.slots.take();
  const userId = owner ?? nobody;
  const injections =
    credential === null
      ? []
      : [await bearerOf(deps, { orgId, userId, reference: credential.reference })];
  const facts = { orgId, userId, injections, target: { kind: 'raw' as const }, keys: [] };
  const credentials = await loadCredentials(deps, facts, url);
  const endsAt = performance.now() + sendingTimeMs(discoveryMs, deadline);
  const timeoutMs = () => Math.max(1, endsAt - performance.now());
  return discoverTools(deps.egress, { server: { url, credentials }, timeoutMs });
}

async function bearerOf(
  deps: Deps,
  { orgId, userId, reference }: { orgId: string; userId: string; reference: string },
): Promise<Injection> {
  const { secrets } = await describeSecrets(deps, { orgId, userId, names: [reference] });
  const [secret] = secrets;
  if (secret === undefined) {
    throw new AppError('credential_missing', `Store the secret "${reference}" first.`, {
      details: { secret: reference },
    });
  }
  return {
    kind: 'secret',
    credentialId: secret.id,
    credentialName: secret.reference,
    in: 'header',
    key: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw',
  };
}
