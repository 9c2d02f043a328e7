import type { Deadline } from '#bus';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { auditEntryOf } from './audit-entry.ts';
import { requireSameTool } from '../sending/call-tool.ts';
import { loadCredentials } from '../sending/load-credentials.ts';
import { requireLivePermit } from '../request/permit.ts';
import { requireUnchanged, thawCall } from './frozen-call.ts';
import { approvalStaleError } from '../request/approval-stale.ts';
import { prepareCall } from '../request/prepare-call.ts';
import { runNonRead } from './run-non-read.ts';
import { runApprovedRead } from './run-read.ts';
import { takeAuditShare } from './run.ts';
import type { RunOutcome } from './run.ts';
import { noteRefused } from './note-credentials.ts';
import { sendingTimeMs } from '../sending/send.ts';
import { renewCredentials } from '../sending/renew-credentials.ts';
import type { Deps } from '../deps.ts';
import type { Credential } from '../request/domain/inject.ts';
import type { OnRefused } from '../sending/derive-credential.ts';
import { requestDigestOf } from '../request/domain/built-request.ts';

/**
 * Runs an approved call: rebuilds it from the sealed copy and sends it only if the request equals
 * the approved one byte for byte.
 */
export async function executeFrozenCall(
  deps: Deps,
  {
    permit: signedPermit,
    sealedCall,
    context,
  }: { permit: string; sealedCall: string; context: CallContext },
  deadline: Deadline,
): Promise<RunOutcome> {
  const permit = deps.verifyPermit(signedPermit);
  using _inHand = deps.callsInHand.hold(permit.jti);
  using slot = deps.slots.take(permit);
  deps.auditShare.assertRoom(permit);
  const { orgId, approvalId } = permit;
  if (approvalId === null) {
    throw new AppError('unauthenticated', 'A frozen call runs only by the permit of its approval.');
  }
  const frozenCall = await thawCall(deps, { orgId, approvalId, sealedCall });
  requireUnchanged(frozenCall, permit);
  if (permit.requestDigest === null && frozenCall.isTooLarge) {
    throw approvalStaleError(
      'A request that is too large to be shown whole is not allowed with another',
    );
  }
  const { call } = frozenCall;
  const preparedCall = await prepareCall(deps, { permit, call }, deadline);
  const rebuiltDigest = requestDigestOf(preparedCall.request);
  // The digest of the request that was approved. A decision on many approvals at once (a cascade)
  // names permission keys and no digest, so the sealed digest is used.
  const decidedDigest = permit.requestDigest ?? frozenCall.requestDigest;
  if (rebuiltDigest !== decidedDigest || rebuiltDigest !== frozenCall.requestDigest) {
    throw approvalStaleError('The request would no longer be the approved one');
  }
  const { request } = preparedCall;
  // The call may always wait for a slot, because a refused replay is retried only after a pause.
  await slot.enterUpstream(request.url, frozenCall.timeoutMs);
  const { disclosed } = frozenCall;
  const auditEntry = auditEntryOf(permit, { prepared: preparedCall, context, disclosed });
  const onRefused = noteRefused(deps, { permit, entry: auditEntry });
  let credentials: readonly Credential[] = await loadCredentials(
    deps,
    { permit, ...preparedCall, url: request.url, onRefused },
    deadline,
  );
  requireLivePermit(permit);
  const timeoutMs = sendingTimeMs(frozenCall.timeoutMs, deadline);
  if (preparedCall.tool !== undefined) {
    credentials = await checkTool(deps, {
      permit,
      prepared: preparedCall,
      credentials,
      timeoutMs,
      onRefused,
    });
    // The permit may have expired while a slow server listed its tools. The list is cached for some
    // seconds, so a retry is quick.
    requireLivePermit(permit);
  }

  const run = {
    permit,
    call,
    prepared: preparedCall,
    credentials,
    entry: auditEntry,
    timeoutMs,
  };
  const { isWrite } = takeAuditShare(deps, run);
  // `await` keeps `slot` from being disposed before the call has ended.
  const executed = isWrite ? runNonRead(deps, run, deadline) : runApprovedRead(deps, run);
  return await executed;
}

/**
 * Checks that the server's tool is still the one that was accepted. If the server refuses the
 * access token, checks once more with a new one.
 */
async function checkTool(
  deps: Deps,
  replayedToolCall: Parameters<typeof requireSameTool>[1] & { readonly onRefused: OnRefused },
): Promise<readonly Credential[]> {
  try {
    await requireSameTool(deps, replayedToolCall);
    return replayedToolCall.credentials;
  } catch (error) {
    if (AppError.from(error).details['status_code'] !== 401) throw error;
    const renewedCredentials = await renewCredentials(deps, replayedToolCall, {
      status: 401,
      leftMs: replayedToolCall.timeoutMs,
    });
    if (renewedCredentials === undefined) throw error;
    await requireSameTool(deps, { ...replayedToolCall, credentials: renewedCredentials });
    return renewedCredentials;
  }
}
