import type { Deadline } from '#bus';
import type { DisclosedField } from '#contracts/audit';
import type { Call, CallOptions } from '#contracts/call';
import type { Card } from '#contracts/card';
import type { ShownRequest } from '#contracts/http/approvals';
import type { Gap } from '#contracts/permit';
import { AppError } from '#errors';
import { statementDigest } from '#signing';
import { cardFactsOf, renderDescription } from '#templates';
import { checkFilter } from '../calls/check-filter.ts';
import { claimKey, keyDigestOf } from '../calls/claim.ts';
import { discloseFields } from '../calls/disclose.ts';
import { freezeCall } from '../calls/frozen-call.ts';
import { answerSecondAttempt, differentCall } from '../calls/outcome.ts';
import { prepareCall } from '../calls/prepare.ts';
import type { PreparedCall } from '../calls/prepare.ts';
import type { Executed } from '../calls/run.ts';
import { showCredentials } from '../calls/show-credentials.ts';
import type { Deps } from '../deps.ts';
import { parseAddress } from '../domain/base-url.ts';
import { redactedParams, showRequest } from '../domain/redact.ts';
import { requestDigestOf } from '../domain/request.ts';
import { isNonRead } from '../domain/retry.ts';
import { redactedText } from '../domain/shown-headers.ts';
import { findIdempotency } from '../repository/idempotency.ts';

type Preview =
  | {
      kind: 'preview';
      request: ShownRequest;
      disclosed: DisclosedField[];
      description: string;
      sealedCall: string;
      requestDigest: string;
      cardMac: string;
    }
  | { kind: 'seen'; outcome: Executed };

/** For all filters of one call together; what is not done by then is shown as not done. */
const discloseMs = 4_000;
const sealedLengthMax = 3_000_000;

/** Prepares what a person is asked to approve. Sends nothing but look-ups of names, and those only where reads are allowed. */
export async function previewCall(
  deps: Deps,
  {
    gap: signedGap,
    call,
    options,
    approvalId,
  }: { gap: string; call: Call; options: CallOptions; approvalId: string },
  deadline: Deadline,
): Promise<Preview> {
  const gap = deps.verifyGap(signedGap);
  const prepared = await prepareCall(deps, { facts: gap, call }, deadline);
  // Nobody is asked about a call that cannot be made.
  deps.egress.check(parseAddress(prepared.request.url).href);
  const isKeyed = gap.idempotencyKey !== null && isNonRead(prepared.request.method, gap.nonRead);
  const seen = isKeyed ? await findEarlier(deps, gap, approvalId) : undefined;
  if (seen) return { kind: 'seen', outcome: seen };
  await checkApprovalId(deps, gap, { approvalId, isKeyed });
  await checkFilter(deps, call.filter, gap);

  const [disclosed, description, credentials] = await Promise.all([
    discloseFields(deps, { prepared, userId: gap.userId, timeoutMs: discloseMs }),
    describe(deps, { gap, call, prepared }),
    showCredentials(deps, gap),
  ]);
  const request = showRequest(prepared, { fromAction: call.kind === 'action', credentials });
  const isTooLarge = request.too_large === true;
  const requestDigest = requestDigestOf(prepared.request);
  const { target, injections, orgId } = gap;
  const frozen = {
    call,
    timeoutMs: options.timeoutMs,
    target,
    injections,
    requestDigest,
    disclosed,
    isTooLarge,
  };
  const sealedCall = await freezeCall(deps, { orgId, approvalId, frozen });
  if (sealedCall.length > sealedLengthMax) {
    throw new AppError(
      'too_large',
      'The call is too large to be kept for approval; send less in it.',
    );
  }
  if (isKeyed) {
    const earlier = await holdKey(deps, gap, approvalId);
    if (earlier) return { kind: 'seen', outcome: earlier };
  }
  const cardMac = deps.cards.of({
    approval_id: approvalId,
    gap_digest: statementDigest(signedGap),
    request_digest: requestDigest,
    ...cardFactsOf(gap, call),
    // Nobody remembers by a request that nobody has seen whole.
    ...(isTooLarge ? { suggested_tiers: [] } : {}),
    action_description: description,
    request,
    disclosed,
  } satisfies Card);
  return { kind: 'preview', request, disclosed, description, sealedCall, requestDigest, cardMac };
}

/** What became of the call that has this idempotency key already. */
async function findEarlier(
  { db }: Deps,
  gap: Gap,
  approvalId: string,
): Promise<Executed | undefined> {
  const { orgId, identityId, callDigest, idempotencyKey } = gap;
  const keyDigest = keyDigestOf(idempotencyKey ?? '');
  const held = await findIdempotency(db, { orgId, identityId, keyDigest });
  if (held === undefined) return undefined;
  if (held.callDigest !== callDigest) throw differentCall('idempotency_key_reused');
  if (held.approvalId === approvalId) return undefined; // The same preview, asked for again.
  if (held.approvalId !== null) return { kind: 'suspended', approvalId: held.approvalId };
  if (held.dispatchId === null) return undefined;
  const otherCall = 'idempotency_key_reused';
  return answerSecondAttempt(db, { orgId, dispatchId: held.dispatchId, callDigest, otherCall });
}

/**
 * An approval has the id of its gap, which approvals cannot choose: it would show one call under an
 * id and have another decided under it. Of calls with one idempotency key, which are all the same
 * call, the id is the first one's.
 */
async function checkApprovalId(
  { db }: Deps,
  { jti, orgId, identityId, callDigest, idempotencyKey }: Gap,
  { approvalId, isKeyed }: { approvalId: string; isKeyed: boolean },
): Promise<void> {
  if (approvalId === jti) return;
  const keyDigest = keyDigestOf(idempotencyKey ?? '');
  const held = isKeyed ? await findIdempotency(db, { orgId, identityId, keyDigest }) : undefined;
  if (held?.approvalId === approvalId && held.callDigest === callDigest) return;
  throw new AppError('unauthenticated', 'The approval is not the one of this call.');
}

/** From here on, calls with this key are answered with the state of this approval. */
async function holdKey({ db }: Deps, gap: Gap, approvalId: string): Promise<Executed | undefined> {
  const held = await db.transaction((tx) => claimKey(tx, gap, { dispatchId: null, approvalId }));
  if (held.kind === 'mine') return undefined;
  if (held.kind === 'suspended') return held;
  const { orgId, callDigest } = gap;
  const otherCall = 'idempotency_key_reused';
  return answerSecondAttempt(db, { orgId, dispatchId: held.dispatchId, callDigest, otherCall });
}

/** Policy's sentence, with names in place of opaque ids where they may be looked up, and without what is redacted. */
async function describe(
  { lookUpNames }: Deps,
  { gap, call, prepared }: { gap: Gap; call: Call; prepared: PreparedCall },
): Promise<string> {
  const { action, request, baseUrl } = prepared;
  if (call.kind !== 'action' || action === undefined || baseUrl === null) return gap.description;
  const hidden = redactedParams(action);
  const { params } = request.projection;
  const names = gap.lookUpsAllowed
    ? await lookUpNames({ facts: gap, action, params, baseUrl })
    : {};
  const shown = Object.entries(call.params).map(([name, value]) => {
    if (hidden.has(name)) return [name, redactedText] as const;
    const found = names[name];
    // The id stays beside the name: the upstream wrote the name, and may have written anything.
    return [
      name,
      found === undefined
        ? value
        : `${found} (${typeof value === 'object' ? JSON.stringify(value) : value})`,
    ] as const;
  });
  const isPlain = hidden.size === 0 && Object.keys(names).length === 0;
  if (isPlain || action.description.length === 0) return gap.description;
  return renderDescription(action.description, Object.fromEntries(shown)).slice(0, 2_000);
}
