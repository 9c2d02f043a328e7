import type { Deadline } from '#bus';
import type { DisclosedField } from '#contracts/audit';
import type { Call, CallOptions } from '#contracts/call';
import { titledService } from '#contracts/card';
import type { Card, ServiceTitle } from '#contracts/card';
import type { ShownRequest } from '#contracts/http/approvals';
import type { Gap } from '#contracts/permit';
import { AppError } from '#errors';
import { statementDigest } from '#signing';
import { cardFactsOf, renderDescription, serviceTitleOf } from '#templates';
import { checkFilter } from '../jq/check-filter.ts';
import { claimKey, keyDigestOf } from './claim-dispatch.ts';
import type { IdempotencyKeyClaim } from './claim-dispatch.ts';
import { discloseFields } from '../previews/disclose-fields.ts';
import { freezeCall } from './frozen-call.ts';
import { answerSecondAttempt, differentCallError } from './outcome.ts';
import { prepareCall } from '../request/prepare-call.ts';
import type { PreparedCall } from '../request/prepare-call.ts';
import type { RunOutcome } from './run.ts';
import { showCredentials } from './show-credentials.ts';
import type { Deps } from '../deps.ts';
import { parseAddress } from '../request/domain/base-url.ts';
import { redactedParamsOf, showRequest } from '../previews/domain/redact.ts';
import { requestDigestOf } from '../request/domain/built-request.ts';
import { isNonRead } from '../sending/domain/retry.ts';
import { redactionMarker } from '../request/domain/shown-headers.ts';
import { findIdempotencyKey, joinedDispatchIdOf, moveIdempotencyKey } from './idempotency.sql.ts';

type Preview =
  | {
      kind: 'preview';
      request: ShownRequest;
      disclosed: DisclosedField[];
      description: string;
      sealedCall: string;
      requestDigest: string;
      cardMac: string;
      serviceTitle?: ServiceTitle;
    }
  | { kind: 'seen'; outcome: RunOutcome };

/**
 * The time for all filters of one call together. On the approval card, a filter that needs longer
 * is shown as not run.
 */
const discloseMsMax = 4_000;
const sealedCallLengthMax = 3_000_000;

interface PreviewRequest {
  readonly gap: string;
  readonly call: Call;
  readonly options: CallOptions;
  readonly approvalId: string;
}

interface Joining {
  readonly unstoredId?: string | undefined;
  readonly isDenied?: boolean | undefined;
}

/**
 * Prepares the approval card of a call, or only notes its idempotency key where it joins an approval
 * that has a card.
 */
export async function previewCall(
  deps: Deps,
  { joining, ...request }: PreviewRequest & { joining?: Joining | undefined },
  deadline: Deadline,
): Promise<Preview> {
  if (joining === undefined) return prepareCard(deps, request, deadline);
  const gap = deps.verifyGap(request.gap);
  const { approvalId } = request;
  return { kind: 'seen', outcome: await joinApproval(deps, gap, { approvalId, ...joining }) };
}

/** Sends nothing except requests that look up names, and these only where policy allows reads. */
async function prepareCard(
  deps: Deps,
  { gap: signedGap, call, options, approvalId }: PreviewRequest,
  deadline: Deadline,
): Promise<Preview> {
  const gap = deps.verifyGap(signedGap);
  const preparedCall = await prepareCall(deps, { permit: gap, call }, deadline);
  // Refuses an address that may not be called now, before a person is asked about the call.
  deps.egress.check(parseAddress(preparedCall.request.url).href);
  const isKeyed =
    gap.idempotencyKey !== null && isNonRead(preparedCall.request.method, gap.nonRead);
  const earlierOutcome = isKeyed ? await findEarlierOutcome(deps, gap, approvalId) : undefined;
  if (earlierOutcome) return { kind: 'seen', outcome: earlierOutcome };
  await checkApprovalId(deps, gap, { approvalId, isKeyed });
  await checkFilter(deps, call.filter, gap);

  const [disclosed, description, credentials] = await Promise.all([
    discloseFields(deps, { prepared: preparedCall, permit: gap, timeoutMs: discloseMsMax }),
    describeCall(deps, { gap, call, prepared: preparedCall }),
    showCredentials(deps, gap),
  ]);
  const request = showRequest(preparedCall, { fromAction: call.kind === 'action', credentials });
  const isTooLarge = request.too_large === true;
  const requestDigest = requestDigestOf(preparedCall.request);
  const { target, injections, orgId } = gap;
  const frozenCall = {
    call,
    timeoutMs: options.timeoutMs,
    target,
    injections,
    requestDigest,
    disclosed,
    isTooLarge,
  };
  const sealedCall = await freezeCall(deps, { orgId, approvalId, frozen: frozenCall });
  if (sealedCall.length > sealedCallLengthMax) {
    throw new AppError(
      'too_large',
      'The call is too large to be kept for approval; send less in it.',
    );
  }
  if (isKeyed) {
    const earlierOutcome = await holdIdempotencyKey(deps, gap, approvalId);
    if (earlierOutcome) return { kind: 'seen', outcome: earlierOutcome };
  }
  const cardMac = deps.cards.toMac({
    approval_id: approvalId,
    gap_digest: statementDigest(signedGap),
    request_digest: requestDigest,
    ...cardFactsOf(gap, call),
    // Suggests no rules to remember for a request that is too large to be shown whole.
    ...(isTooLarge ? { suggested_tiers: [] } : {}),
    action_description: description,
    request,
    disclosed,
  } satisfies Card);
  const title = titleOf(deps, { target, approvalId, template: preparedCall.template });
  return {
    kind: 'preview',
    request,
    disclosed,
    description,
    sealedCall,
    requestDigest,
    cardMac,
    ...title,
  };
}

/** The title of the called service, from the template whose digest was verified. */
function titleOf(
  { cards }: Pick<Deps, 'cards'>,
  {
    target,
    approvalId,
    template,
  }: { target: Gap['target']; approvalId: string; template: PreparedCall['template'] },
): { serviceTitle?: ServiceTitle } {
  if (target.kind === 'raw') return {};
  const title = serviceTitleOf(target.template, template);
  if (title === undefined) return {};
  return { serviceTitle: { title, mac: cards.toMac(titledService(approvalId, title)) } };
}

/** The outcome of the call that already holds this idempotency key. */
async function findEarlierOutcome(
  { db }: Deps,
  gap: Gap,
  approvalId: string,
): Promise<RunOutcome | undefined> {
  const { orgId, identityId, callDigest, idempotencyKey } = gap;
  const keyDigest = keyDigestOf(idempotencyKey ?? '');
  const idempotencyRow = await findIdempotencyKey(db, { orgId, identityId, keyDigest });
  if (idempotencyRow === undefined) return undefined;
  if (idempotencyRow.callDigest !== callDigest) throw differentCallError('idempotency_key_reused');
  if (idempotencyRow.approvalId === approvalId) return undefined; // A repeated preview of this approval.
  const heldBy = idempotencyRow.approvalId ?? idempotencyRow.joinedApprovalId;
  if (heldBy !== null) return { kind: 'suspended', approvalId: heldBy };
  if (idempotencyRow.dispatchId === null) return undefined;
  const otherCall = 'idempotency_key_reused';
  return answerSecondAttempt(db, {
    orgId,
    dispatchId: idempotencyRow.dispatchId,
    callDigest,
    otherCall,
  });
}

/**
 * Requires that the approval has the id of its permission gap. If the approvals component chose the
 * id freely, it could show one call and have another one decided. Calls with the same idempotency
 * key count as one call: their approval has the id of the first gap.
 */
async function checkApprovalId(
  { db }: Deps,
  { jti, orgId, identityId, callDigest, idempotencyKey }: Gap,
  { approvalId, isKeyed }: { approvalId: string; isKeyed: boolean },
): Promise<void> {
  if (approvalId === jti) return;
  const keyDigest = keyDigestOf(idempotencyKey ?? '');
  const idempotencyRow = isKeyed
    ? await findIdempotencyKey(db, { orgId, identityId, keyDigest })
    : undefined;
  if (idempotencyRow?.approvalId === approvalId && idempotencyRow.callDigest === callDigest) return;
  throw new AppError('unauthenticated', 'The approval is not the one of this call.');
}

/**
 * Stores the approval under the idempotency key, so that later calls with this key get the state of
 * this approval.
 */
async function holdIdempotencyKey(
  deps: Deps,
  gap: Gap,
  approvalId: string,
): Promise<RunOutcome | undefined> {
  const idempotencyRow = await deps.db.transaction((tx) =>
    claimKey(tx, gap, { dispatchId: null, approvalId }),
  );
  return idempotencyRow.kind === 'mine' ? undefined : outcomeOfHolder(deps, gap, idempotencyRow);
}

/**
 * Gives the idempotency key of the call to the approval of an identical call, which the call joins.
 * Returns that approval, or what has the key already. Approvals chooses this approval freely: the
 * requester's later calls with the key only get an answer from it, and no card is made for it.
 */
async function joinApproval(
  deps: Deps,
  gap: Gap,
  { approvalId, unstoredId, isDenied }: Joining & { approvalId: string },
): Promise<RunOutcome> {
  const joinedOutcome = { kind: 'suspended', approvalId } as const;
  if (gap.idempotencyKey === null || !gap.nonRead) return joinedOutcome;
  if (isDenied) return (await findEarlierOutcome(deps, gap, approvalId)) ?? joinedOutcome;
  const { orgId, identityId } = gap;
  const key = { orgId, identityId, keyDigest: keyDigestOf(gap.idempotencyKey) };
  if (unstoredId !== undefined) {
    await moveIdempotencyKey(
      deps.db,
      { ...key, callDigest: gap.callDigest },
      { from: unstoredId, to: approvalId },
    );
  }
  const claim = await claimKey(deps.db, gap, {
    dispatchId: joinedDispatchIdOf(approvalId),
    approvalId: null,
  });
  if (claim.kind === 'mine') return joinedOutcome;
  return outcomeOfHolder(deps, gap, claim);
}

async function outcomeOfHolder(
  { db }: Deps,
  { orgId, callDigest }: Gap,
  holder: Exclude<IdempotencyKeyClaim, { kind: 'mine' }>,
): Promise<RunOutcome> {
  if (holder.kind === 'suspended') return holder;
  const otherCall = 'idempotency_key_reused';
  return answerSecondAttempt(db, { orgId, dispatchId: holder.dispatchId, callDigest, otherCall });
}

/**
 * Policy's description of the call, without redacted values, and with names beside opaque ids where
 * the names may be looked up.
 */
async function describeCall(
  { lookUpNames }: Deps,
  { gap, call, prepared }: { gap: Gap; call: Call; prepared: PreparedCall },
): Promise<string> {
  const { action, request, baseUrl } = prepared;
  if (call.kind !== 'action' || action === undefined || baseUrl === null) return gap.description;
  const hiddenParams = redactedParamsOf(action);
  const { params } = request.projection;
  const lookedUpNames = gap.lookUpsAllowed
    ? await lookUpNames({ permit: gap, action, params, baseUrl })
    : {};
  const shownParams = Object.entries(call.params).map(([name, value]) => {
    if (hiddenParams.has(name)) return [name, redactionMarker] as const;
    const lookedUpName = lookedUpNames[name];
    // The id stays beside the name, because the upstream wrote the name and may have lied.
    return [
      name,
      lookedUpName === undefined
        ? value
        : `${lookedUpName} (${typeof value === 'object' ? JSON.stringify(value) : value})`,
    ] as const;
  });
  const isUnchanged = hiddenParams.size === 0 && Object.keys(lookedUpNames).length === 0;
  if (isUnchanged || action.description.length === 0) return gap.description;
  return renderDescription(action.description, Object.fromEntries(shownParams)).slice(0, 2_000);
}
