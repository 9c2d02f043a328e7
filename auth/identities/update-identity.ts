import type { Identity as PublicIdentity, UpdateIdentityBody } from '#contracts/http/identities';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canExtend } from './domain/access.ts';
import { identityChangedEvent, isChanged } from './domain/identity-events.ts';
import type { Identity } from './domain/identity.ts';
import { presentIdentity } from './domain/present-identity.ts';
import { getIdentity } from './identities.sql.ts';
import { changeIdentity, isNameTaken } from './identity-changes.sql.ts';
import { lockManagedIdentity, nameTakenError, alreadyRevokedError } from './manage-identity.ts';

interface UpdateIdentityFields {
  readonly principal: string;
  readonly id: string;
  readonly body: UpdateIdentityBody;
  readonly context: CallContext;
}

/** Changes an agent or subagent. Its parent never changes. */
export async function updateIdentity(
  { db, readPrincipal, credentials }: Deps,
  { principal, id, body, context }: UpdateIdentityFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  const updatedIdentity = await db.transaction(async (tx) => {
    const identityBefore = await lockManagedIdentity(tx, { caller, id, verb: 'change' });
    assertMayChange(caller, identityBefore, body);
    const { parentId, status } = identityBefore;
    const { name } = body;
    const claimsName = name !== undefined && status === 'active';
    if (claimsName && (await isNameTaken(tx, { orgId, id, parentId, name })))
      throw nameTakenError(name);
    const expiresAt =
      typeof body.expires_at === 'string' ? new Date(body.expires_at) : body.expires_at;
    const change = {
      name,
      autoCallOnApprove: body.auto_call_on_approve,
      inheritPermissions: body.inherit_permissions,
      expiresAt,
    };
    const isUpdated = await changeIdentity(tx, { orgId, id }, change);
    if (!isUpdated)
      throw invalidFieldError('expires_at', 'It must be in the future, or null for no end.');
    const identityAfter = await getIdentity(tx, { orgId, id });
    if (isChanged(identityBefore, identityAfter)) {
      const event = identityChangedEvent(
        { caller, context },
        { before: identityBefore, after: identityAfter, verb: 'changed' },
      );
      await appendEvent(tx, event);
    }
    return identityAfter;
  });
  credentials.drop();
  return presentIdentity(updatedIdentity);
}

function assertMayChange(caller: Principal, identity: Identity, body: UpdateIdentityBody): void {
  if (identity.status === 'revoked') throw alreadyRevokedError();
  if (identity.kind === 'user') {
    throw new AppError('forbidden', 'This is a user; here agents and subagents are changed.');
  }
  if (body.inherit_permissions === true && identity.kind !== 'subagent') {
    throw invalidFieldError('inherit_permissions', 'Only a subagent has a parent to inherit from.');
  }
  const widensPermissions = body.inherit_permissions !== undefined || body.expires_at !== undefined;
  if (widensPermissions && !canExtend(caller, identity)) {
    throw new AppError(
      'forbidden',
      'An agent changes inherit_permissions and expires_at only of children that it made itself.',
    );
  }
}

function invalidFieldError(path: string, message: string): AppError {
  return new AppError('invalid_params', `${path} is not valid. ${message}`, {
    details: { issues: [{ path, message }] },
  });
}
