import { setTimeout as delay } from 'node:timers/promises';

import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import type { Call, CallOptions } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import type { CallContext } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { digestOf, isRecent, statementDigest } from '#signing';
import type { Deps } from '../deps.ts';
import { announceRaised } from '../domain/announce.ts';
import type { Approval } from '../domain/approval.ts';
import { callStateOf } from '../domain/call-state.ts';
import type { CallState } from '../domain/call-state.ts';
import { firstResolver, nextResolver } from '../domain/ladder.ts';
import { cardFrom, frozenFrom } from '../domain/new-approval.ts';
import { inProgress } from '../domain/refusals.ts';
import { assertWithinLimits } from '../raising/limits.ts';
import {
  findApproval,
  findIdenticalCall,
  insertApproval,
  lockSubtree,
} from '../repository/approval.ts';
import { announce } from '../transitions/announce.ts';
import { expireApprovals } from '../transitions/approval.ts';

interface RaiseRequest {
  readonly principal: string;
  readonly gap: string;
  readonly call: Call;
  readonly options: CallOptions;
  readonly context: CallContext;
}

/** A gap is raised at once or not at all: what policy found may have changed since. */
const gapAgeMsMax = 10_000;
/** How long a twin of this call may take from its preview to its row. */
const twinPatienceMs = 2_000;

type Preview = Awaited<ReturnType<Deps['executor']['preview']>>;

/** Suspends a call that nothing in reach allows, or answers with what the identical call came to. */
export async function raiseApproval(
  deps: Deps,
  request: RaiseRequest,
  deadline: Deadline,
): Promise<CallState> {
  const gap = verifyGap(deps, request);
  const answer = (approval: Approval) =>
    callStateOf(approval, { baseUrl: deps.baseUrl, relationship: 'self' });

  const same = await findIdenticalCall(deps.db, identityOf(gap));
  if (same) return answer(same);
  // Counted again under the lock; here it spares a flood its previews.
  await assertWithinLimits(deps, deps.db, gap);

  const prepared = await preparePreview(deps, { request, gap }, deadline);
  if ('state' in prepared) return prepared.state;
  const approval = await store(deps, { request, gap, ...prepared }, deadline);
  return answer(approval);
}

function verifyGap(deps: Deps, { principal: signed, gap: signedGap, call }: RaiseRequest): Gap {
  const principal = deps.readPrincipal(signed);
  const gap = deps.gaps.verify(signedGap);
  const isFresh = isRecent(gap.issuedAt, { ageMsMax: gapAgeMsMax, now: deps.now() });
  const isTheirs = gap.identityId === principal.identityId && gap.orgId === principal.orgId;
  if (isFresh && isTheirs && gap.callDigest === digestOf(call)) return gap;
  throw new AppError(
    'unauthenticated',
    'The gap does not belong to this call; make the call again.',
  );
}

/**
 * Asks the executor what a person would be shown. A call whose idempotency key was seen before
 * is answered with what became of that one; if that was an approval which was never stored (its
 * process died, or a limit stopped it), the approval is raised now under the id it was to have.
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
  // Policy's choice: a card is believed of the approval that has the id of its gap alone.
  const approvalId = gap.jti;
  const first = await preview(approvalId);
  if (first.kind === 'preview') return { approvalId, preview: first };
  if (first.outcome.kind === 'called') {
    const { result, auditId } = first.outcome;
    return { state: { kind: 'called', result, auditId, description: gap.description } };
  }

  const seen = { orgId: gap.orgId, approvalId: first.outcome.approvalId };
  const approval = await findTwin(deps.db, seen);
  if (approval) {
    assertTheirs(approval, gap);
    return { state: callStateOf(approval, { baseUrl: deps.baseUrl, relationship: 'self' }) };
  }
  const second = await preview(seen.approvalId);
  if (second.kind === 'preview') return { approvalId: seen.approvalId, preview: second };
  throw inProgress(seen.approvalId);
}

/** Keys and ids are the requester's own; should that ever fail, nobody is shown what is another's. */
function assertTheirs(approval: Approval, gap: Gap): void {
  if (approval.requesterId === gap.identityId) return;
  throw new AppError(
    'conflict',
    'The idempotency key is taken; make the call again with a new one.',
  );
}

/** The approval of a concurrent twin, which stores it right after its preview. */
async function findTwin(
  sql: Sql,
  key: { orgId: string; approvalId: string },
): Promise<Approval | undefined> {
  const patience = deadlineIn(twinPatienceMs);
  for (;;) {
    const approval = await findApproval(sql, key);
    if (approval || patience.remainingMs() === 0) return approval;
    await delay(100);
  }
}

async function store(
  deps: Deps,
  {
    request,
    gap,
    approvalId,
    preview,
  }: {
    request: RaiseRequest;
    gap: Gap;
    approvalId: string;
    preview: Preview & { kind: 'preview' };
  },
  deadline: Deadline,
): Promise<Approval> {
  const settings = await deps.getOrgSettings(gap.orgId);
  if (deadline.remainingMs() === 0) {
    throw new AppError('unavailable', 'The call could not be suspended in time; try again.');
  }
  const frozen = frozenFrom(gap);
  const resolver = firstResolver(gap.ladder, { straightToUser: settings.autoBubbleSeconds === 0 });
  const { description, request: shown, disclosed, sealedCall, requestDigest, cardMac } = preview;
  const key = { orgId: gap.orgId, approvalId };

  return deps.db.transaction(async (tx) => {
    await lockSubtree(tx, { orgId: gap.orgId, subtreeId: frozen.subtreeId });
    const requester = { orgId: gap.orgId, id: gap.identityId };
    await expireApprovals(tx, { requester, limit: 100 });
    const same = await findIdenticalCall(tx, identityOf(gap));
    if (same) return same;
    await assertWithinLimits(deps, tx, gap);

    const isNew = await insertApproval(tx, {
      ...frozen,
      id: approvalId,
      orgId: gap.orgId,
      resolverId: resolver.id,
      autoBubbleSeconds: settings.autoBubbleSeconds,
      canBubble: nextResolver(gap.ladder, resolver.id) !== undefined,
      gapId: gap.jti,
      gapDigest: statementDigest(request.gap),
      requestDigest,
      cardMac,
      timeoutMs: request.options.timeoutMs,
      card: cardFrom(gap, request.call, {
        description,
        request: shown,
        disclosed,
        context: request.context,
      }),
      gap: request.gap,
      sealedCall,
      ttlSeconds: settings.approvalTtlSeconds,
    });
    const approval = await findApproval(tx, key);
    if (!approval) throw new Error('an approval that was just stored is gone');
    assertTheirs(approval, gap);
    if (isNew) {
      await announce(tx, announceRaised(approval, deps.baseUrl));
      deps.logger.info(
        { approvalId, requesterId: gap.identityId, risk: gap.risk },
        'approval raised',
      );
    }
    return approval;
  });
}

function identityOf({ orgId, identityId, callDigest }: Gap) {
  return { orgId, requesterId: identityId, callDigest };
}
