import type { Deadline } from '#bus';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { auditEntryOf } from '../calls/audit-entry.ts';
import { requireSameTool } from '../calls/call-tool.ts';
import { loadCredentials } from '../calls/credentials.ts';
import { requireLivePermit } from '../calls/facts.ts';
import { requireUnchanged, stale, thawCall } from '../calls/frozen-call.ts';
import { prepareCall } from '../calls/prepare.ts';
import { runNonRead } from '../calls/run-non-read.ts';
import { runApprovedRead } from '../calls/run-read.ts';
import type { Executed } from '../calls/run.ts';
import { sendingTimeMs } from '../calls/send.ts';
import { renewRefused } from '../calls/refused-token.ts';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import { requestDigestOf } from '../domain/request.ts';
import { isNonRead } from '../domain/retry.ts';

/** Runs an approved call: builds it again from what was sealed, and sends it only if it is what was approved, byte for byte. */
export async function executeFrozenCall(
  deps: Deps,
  {
    permit: signedPermit,
    sealedCall,
    context,
  }: { permit: string; sealedCall: string; context: CallContext },
  deadline: Deadline,
): Promise<Executed> {
  const permit = deps.verifyPermit(signedPermit);
  using slot = deps.slots.take(permit);
  deps.auditShare.assertRoom(permit);
  const { orgId, approvalId } = permit;
  if (approvalId === null) {
    throw new AppError('unauthenticated', 'A frozen call runs only by the permit of its approval.');
  }
  const frozen = await thawCall(deps, { orgId, approvalId, sealedCall });
  requireUnchanged(frozen, permit);
  if (permit.requestDigest === null && frozen.isTooLarge) {
    throw stale('A request that is too large to be shown whole is not allowed with another');
  }
  const { call } = frozen;
  const prepared = await prepareCall(deps, { facts: permit, call }, deadline);
  const rebuilt = requestDigestOf(prepared.request);
  // What the decision was made on; by cascade nobody was shown this request, only its keys.
  const decided = permit.requestDigest ?? frozen.requestDigest;
  if (rebuilt !== decided || rebuilt !== frozen.requestDigest) {
    throw stale('The request would no longer be the approved one');
  }
  const { request } = prepared;
  // Whoever replays asks again only after a while, so this may wait whenever it has to.
  await slot.enterUpstream(request.url, frozen.timeoutMs);
  let credentials: readonly Credential[] = await loadCredentials(
    deps,
    { facts: permit, action: prepared.action, url: request.url },
    deadline,
  );
  requireLivePermit(permit);
  const timeoutMs = sendingTimeMs(frozen.timeoutMs, deadline);
  if (prepared.tool !== undefined) {
    credentials = await checkTool(deps, {
      permit,
      facts: permit,
      prepared,
      credentials,
      timeoutMs,
    });
    // A slow server took some of its life; asked again, it is not asked for its tools again.
    requireLivePermit(permit);
  }

  const entry = auditEntryOf(permit, { prepared, context, disclosed: frozen.disclosed });
  const run = { permit, facts: permit, call, prepared, credentials, entry, timeoutMs };
  const isWrite = isNonRead(request.method, permit.nonRead);
  // Intent and outcome, or the outcome alone.
  deps.auditShare.take(permit, entry, isWrite ? 2 : 1);
  // Awaited here: the slot is held until the call has ended.
  const executed = isWrite ? runNonRead(deps, run) : runApprovedRead(deps, run);
  return await executed;
}

/** The tool is still the accepted one; asked once more with the next token when the server refuses this one. */
async function checkTool(
  deps: Deps,
  check: Parameters<typeof requireSameTool>[1],
): Promise<readonly Credential[]> {
  try {
    await requireSameTool(deps, check);
    return check.credentials;
  } catch (thrown) {
    if (AppError.from(thrown).details['status_code'] !== 401) throw thrown;
    const renewed = await renewRefused(deps, check, { status: 401, leftMs: check.timeoutMs });
    if (renewed === undefined) throw thrown;
    await requireSameTool(deps, { ...check, credentials: renewed });
    return renewed;
  }
}
