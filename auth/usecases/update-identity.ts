import type { Identity as PublicIdentity, UpdateIdentityBody } from '#contracts/http/identities';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canWiden } from '../domain/access.ts';
import { identityChanged, isChanged } from '../domain/identity-events.ts';
import type { Identity } from '../domain/identity.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { getIdentity } from '../repository/identities.ts';
import { changeIdentity, isNameTaken } from '../repository/identity-changes.ts';
import { lockManaged, nameTaken, revokedForGood } from './manage-identity.ts';

interface UpdateFields {
  readonly principal: string;
  readonly id: string;
  readonly body: UpdateIdentityBody;
  readonly context: CallContext;
}

/** Changes an agent or subagent. Its place below its parent never changes. */
export async function updateIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, body, context }: UpdateFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const updated = await db.transaction(async (tx) => {
    const before = await lockManaged(tx, { caller, id, verb: 'change' });
    checkChange(caller, before, body);
    const { parentId, status } = before;
    const { name } = body;
    const claimsName = name !== undefined && status === 'active';
    if (claimsName && (await isNameTaken(tx, { orgId, id, parentId, name }))) throw nameTaken(name);
    const expiresAt =
      typeof body.expires_at === 'string' ? new Date(body.expires_at) : body.expires_at;
    const change = {
      name,
      autoCallOnApprove: body.auto_call_on_approve,
      inheritPermissions: body.inherit_permissions,
      expiresAt,
    };
    const isDone = await changeIdentity(tx, { orgId, id }, change);
    if (!isDone) throw invalid('expires_at', 'It must be in the future, or null for no end.');
    const after = await getIdentity(tx, { orgId, id });
    if (isChanged(before, after)) {
      const event = identityChanged({ caller, context }, { before, after, verb: 'changed' });
      await appendEvent(tx, event);
    }
    return after;
  });
  credentials.drop();
  return presentIdentity(updated);
}

function checkChange(caller: Principal, identity: Identity, body: UpdateIdentityBody): void {
  if (identity.status === 'revoked') throw revokedForGood();
  if (identity.kind === 'user') {
    throw new AppError('forbidden', 'This is a user; here agents and subagents are changed.');
  }
  if (body.inherit_permissions === true && identity.kind !== 'subagent') {
    throw invalid('inherit_permissions', 'Only a subagent has a parent to inherit from.');
  }
  const widens = body.inherit_permissions !== undefined || body.expires_at !== undefined;
  if (widens && !canWiden(caller, identity)) {
    throw new AppError(
      'forbidden',
      'An agent changes inherit_permissions and expires_at only of children that it made itself.',
    );
  }
}

function invalid(path: string, message: string): AppError {
  return new AppError('invalid_params', `${path} is not valid. ${message}`, {
    details: { issues: [{ path, message }] },
  });
}
