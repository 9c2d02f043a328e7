import type { Deadline } from '#bus';
import type { Gap } from '#contracts/permit';
import { AppError } from '#errors';
import { digestOf, isRecent, statementDigest } from '#signing';
import { findTraceparent } from '#telemetry';
import { storeAnnouncement } from '../approval/announce.ts';
import {
  findApproval,
  findIdenticalCall,
  insertApproval,
  lockSubtree,
} from '../approval/approval.sql.ts';
import { raisedAnnouncementOf } from '../approval/domain/announcements.ts';
import { searchTextOf } from '../approval/domain/search-text.ts';
import type { Approval } from '../approval/domain/approval.ts';
import type { CallState } from '../approval/domain/call-state.ts';
import { firstResolverOf, findNextResolver } from '../approval/domain/ladder.ts';
import type { Deps } from '../deps.ts';
import { expireApprovals } from '../moves/approval-moves.ts';
import { createCard, frozenFieldsOf } from './domain/new-approval.ts';
import {
  findOwnApproval,
  joinApproval,
  assertOwnApproval,
  ownCallStateOf,
  stateOfHolder,
} from './join-approval.ts';
import type { RaiseRequest } from './join-approval.ts';
import { assertWithinLimits } from './limits.ts';

/**
 * How old a permission gap may be when its approval is raised. What policy found may have changed
 * later.
 */
const gapAgeMsMax = 10_000;
type Preview = Awaited<ReturnType<Deps['executor']['preview']>>;

/** Raises an approval for a call that no rule allows, or returns the state of an identical call. */
export async function raiseApproval(
  deps: Deps,
  request: RaiseRequest,
  deadline: Deadline,
): Promise<CallState> {
  const gap = verifyGap(deps, request);
  const identicalCall = await findIdenticalCall(deps.db, identicalCallOf(gap));
  if (identicalCall) {
    return joinApproval(deps, { request, gap, approval: identicalCall }, deadline);
  }
  // The limits are checked again under the lock. This check spares the executor the previews when a
  // caller sends very many calls.
  await assertWithinLimits(deps, deps.db, gap);

  const preparedCall = await preparePreview(deps, { request, gap }, deadline);
  if ('state' in preparedCall) return preparedCall.state;
  const { approvalId } = preparedCall;
  const approval = await storeApproval(deps, { request, gap, ...preparedCall }, deadline);
  if (approval.id === approvalId) return ownCallStateOf(deps, approval);
  const joined = { request, gap, approval, unstoredId: approvalId };
  return joinApproval(deps, joined, deadline);
}

function verifyGap(deps: Deps, { principal: signed, gap: signedGap, call }: RaiseRequest): Gap {
  const principal = deps.readPrincipal(signed);
  const gap = deps.gapVerifier.verify(signedGap);
  const isFresh = isRecent(gap.issuedAt, { ageMsMax: gapAgeMsMax, now: deps.now() });
  const isCallersGap = gap.identityId === principal.identityId && gap.orgId === principal.orgId;
  if (isFresh && isCallersGap && gap.callDigest === digestOf(call)) return gap;
  throw new AppError(
    'unauthenticated',
    'The gap does not belong to this call; make the call again.',
  );
}

/**
 * Gets from the executor what people will see. If the idempotency key of the call was used before,
 * returns the state of the earlier call. If the approval of that call was never stored (its process
 * died, or a limit stopped it), the approval is raised now under its original id.
 */
async function preparePreview(
  deps: Deps,
  { request, gap }: { request: RaiseRequest; gap: Gap },
  deadline: Deadline,
): Promise<{ state: CallState } | { approvalId: string; preview: Preview & { kind: 'preview' } }> {
  const preview = (approvalId: string) =>
    deps.executor.preview(
      { gap: request.gap, call: request.call, options: request.options, approvalId },
      deadline,
    );
  // Policy chose this id. Auth accepts an approval card only if the approval has the id of the
  // permission gap.
  const approvalId = gap.jti;
  const firstPreview = await preview(approvalId);
  if (firstPreview.kind === 'preview') return { approvalId, preview: firstPreview };
  const { outcome } = firstPreview;
  if (outcome.kind === 'called') return { state: await stateOfHolder(deps, gap, outcome) };

  const approval = await findOwnApproval(deps, gap, outcome.approvalId);
  if (approval) return { state: ownCallStateOf(deps, approval) };
  const secondPreview = await preview(outcome.approvalId);
  if (secondPreview.kind === 'preview')
    return { approvalId: outcome.approvalId, preview: secondPreview };
  // Meanwhile the concurrent request has joined the approval of an identical call.
  return { state: await stateOfHolder(deps, gap, secondPreview.outcome) };
}

interface PreviewedCall {
  readonly request: RaiseRequest;
  readonly gap: Gap;
  readonly approvalId: string;
  readonly preview: Preview & { kind: 'preview' };
}

async function storeApproval(
  deps: Deps,
  { request, gap, approvalId, preview }: PreviewedCall,
  deadline: Deadline,
): Promise<Approval> {
  const settings = await deps.getOrgSettings(gap.orgId);
  if (deadline.remainingMs() === 0) {
    throw new AppError('unavailable', 'The call could not be suspended in time; try again.');
  }
  const frozenFields = frozenFieldsOf(gap);
  const resolver = firstResolverOf(gap.ladder, {
    straightToUser: settings.autoBubbleSeconds === 0,
  });
  const { description, disclosed, sealedCall, requestDigest, cardMac } = preview;
  const key = { orgId: gap.orgId, approvalId };
  const traceparent = findTraceparent();

  return deps.db.transaction(async (tx) => {
    await lockSubtree(tx, { orgId: gap.orgId, subtreeId: frozenFields.subtreeId });
    const requester = { orgId: gap.orgId, id: gap.identityId };
    await expireApprovals(tx, { requester, limit: 100 });
    const identicalCall = await findIdenticalCall(tx, identicalCallOf(gap));
    if (identicalCall) return identicalCall;
    await assertWithinLimits(deps, tx, gap);

    const card = createCard(gap, request.call, {
      description,
      request: preview.request,
      disclosed,
      context: request.context,
      ...(preview.serviceTitle === undefined ? {} : { serviceTitle: preview.serviceTitle }),
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    const isNew = await insertApproval(tx, {
      ...frozenFields,
      id: approvalId,
      orgId: gap.orgId,
      resolverId: resolver.id,
      autoBubbleSeconds: settings.autoBubbleSeconds,
      canBubble: findNextResolver(gap.ladder, resolver.id) !== undefined,
      gapId: gap.jti,
      gapDigest: statementDigest(request.gap),
      requestDigest,
      cardMac,
      timeoutMs: request.options.timeoutMs,
      card,
      searchText: searchTextOf(card, frozenFields.service),
      gap: request.gap,
      sealedCall,
      ttlSeconds: settings.approvalTtlSeconds,
    });
    const approval = await findApproval(tx, key);
    if (!approval) throw new Error('an approval that was just stored is gone');
    assertOwnApproval(approval, gap);
    if (isNew) {
      await storeAnnouncement(tx, raisedAnnouncementOf(approval, deps.baseUrl));
      deps.logger.info(
        { approvalId, requesterId: gap.identityId, risk: gap.risk },
        'approval raised',
      );
    }
    return approval;
  });
}

function identicalCallOf({ orgId, identityId, callDigest }: Gap) {
  return { orgId, requesterId: identityId, callDigest };
}
