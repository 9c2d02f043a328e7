import type { Deps } from '../deps.ts';
import { isSelfApproving } from './oauth-bindings.sql.ts';

/** Whether the caller's OAuth client may decide its own approvals. */
export async function getSelfApproval(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
): Promise<{ enabled: boolean }> {
  const { orgId, userId, identityId, kind, credential } = readPrincipal(principal);
  const { clientId } = credential;
  if (credential.kind !== 'access_token' || clientId === null || kind !== 'agent') {
    return { enabled: false };
  }
  const enabled = await isSelfApproving(db, { orgId, userId, clientId, agentId: identityId });
  return { enabled };
}
