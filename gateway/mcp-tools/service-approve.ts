import { z } from 'zod';

import { deadlineIn } from '#bus';
import { decisionWords, listWordsThatTake } from '#contracts/decision-words';
import type { DecisionWordName } from '#contracts/decision-words';
import { findFieldFault, resolveApprovalBody } from '#contracts/http/approvals';
import { id } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { resolveApproval } from '../calls/resolve-approval.ts';
import { withoutDescription, defineTool, result } from './tool.ts';
import type { ToolAnswer, ToolCall } from './tool.ts';

const resolveMsMax = 5_000;

/**
 * The fields of the REST route, with shorter descriptions (docs/reference/approvals.md#decisions).
 */
const { resolution, remember_keys, ttl, reason, cascade, acknowledge } = resolveApprovalBody.shape;
const approveInput = z.strictObject({
  approval_id: id,
  resolution: resolution.describe(meaningOf(['allow_remember', 'bubble'])),
  remember_keys: remember_keys.describe('From suggested_tiers; default the narrowest.'),
  ttl: ttl.describe(`${listWordsThatTake('ttl', 'required over MCP')} needs it; such as "1d12h".`),
  reason: reason.describe('Shown to the caller.'),
  cascade: cascade.describe('false: other approvals that the rule covers stay open.'),
  acknowledge: acknowledge.describe('To allow a request marked too_large.'),
});
// There is no field `acknowledge`, because a requester may not allow a call that is too large to be
// shown whole. The other fields have no descriptions, because service_approve, which is always in
// the list as well, describes them.
const approveSelfInput = z.strictObject({
  approval_id: id,
  resolution: withoutDescription(resolution),
  remember_keys: withoutDescription(remember_keys),
  ttl: withoutDescription(ttl),
  reason: withoutDescription(reason),
  cascade: withoutDescription(cascade),
});
const approveAnnotations = { readOnlyHint: false, destructiveHint: true };

export const serviceApprove = defineTool('service_approve', {
  title: 'Decide an approval',
  description:
    'Decides an approval of relationship "downstream": one that your agent or subagent raised. Allowing runs the suspended call.',
  annotations: approveAnnotations,
  input: approveInput,
  refusedAs: 'approval.refused',
  scope: 'approvals',
  run: (given, call) => resolveFromTool(given, call, 'ancestor'),
});

/**
 * This tool is listed only while the connection's `self_approve_enabled` is on. Every call checks
 * the switch again.
 */
export const serviceApproveSelf = defineTool('service_approve_self', {
  title: 'Decide your own approval',
  description:
    'Decides an approval of relationship "self", which you raised; fields as of service_approve. The user switched this on: use it only for what the user clearly asked for.',
  annotations: approveAnnotations,
  input: approveSelfInput,
  refusedAs: 'approval.refused',
  scope: 'approvals',
  run: async (toolArguments, call) => {
    if (!(await mayApproveSelf(call))) {
      throw new AppError(
        'self_approval_disabled',
        'Self-approval is not switched on for this connection; its user can do so in the dashboard.',
      );
    }
    return resolveFromTool(toolArguments, call, 'self');
  },
});

/** The answer is not cached, because the user may switch self-approval off at any time. */
export async function mayApproveSelf({
  deps,
  caller,
}: Pick<ToolCall, 'deps' | 'caller'>): Promise<boolean> {
  // Only OAuth connections have the self-approval switch, so callers with other credentials may not
  // approve.
  if (caller.claims.credential.clientId === null) return false;
  const { principal } = caller;
  const { enabled } = await deps.auth.getSelfApproval({ principal }, deadlineIn(2_000));
  return enabled;
}

async function resolveFromTool(
  { approval_id: approvalId, ...body }: z.output<typeof approveInput>,
  { deps, caller: { principal }, credential, context }: ToolCall,
  as: 'ancestor' | 'self',
): Promise<ToolAnswer> {
  const fault = findFieldFault(body, { isOverMcp: true });
  if (fault)
    throw new AppError('invalid_params', fault.message, { details: { issues: fault.issues } });
  const request = { principal, credential, id: approvalId, as, body, context };
  return result(await resolveApproval(deps, request, deadlineIn(resolveMsMax)));
}

function meaningOf(words: readonly DecisionWordName[]): string {
  return words.map((word) => `${word}: ${decisionWords[word].says}.`).join(' ');
}
