import { z } from 'zod';

import { deadlineIn } from '#bus';
import { approvalResponse, resolveApprovalBody } from '#contracts/http/approvals';
import { id } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { resolveApproval } from '../../allow.ts';
import { defineTool, result } from '../tool.ts';
import type { ToolAnswer, ToolCall } from '../tool.ts';

const resolveMsMax = 5_000;

const { resolution, remember_keys, ttl, reason, cascade, acknowledge } = resolveApprovalBody.shape;

/** The fields of the REST route, described for agents (docs/reference/approvals.md#decisions). */
const ownInput = z.strictObject({
  approval_id: id.describe('The approval to decide.'),
  resolution: resolution.describe(
    'allow (or allow_once): this one call. allow_remember: this call, and calls like it for ttl. allow_always: the same without an end unless ttl is given; users only. deny. bubble: hand it to the next identity above.',
  ),
  remember_keys: remember_keys.describe(
    "With allow_remember: the keys of one of the approval's suggested_tiers, or some of them. Default: the narrowest tier.",
  ),
  ttl: ttl.describe(
    'How long to remember, such as "24h" or "30d", 1 minute to 365 days. Required with allow_remember.',
  ),
  reason: reason.describe('Shown to whoever made the call, above all when it is denied.'),
  cascade: cascade.describe(
    'With allow_remember: false leaves other open approvals that the new rule covers undecided. Default true.',
  ),
});
const input = ownInput.extend({
  acknowledge: acknowledge.describe(
    'Needed to allow a request that is marked too_large: you have looked at its outline, and accept that it is not shown whole.',
  ),
});
const output = approvalResponse.shape;
const annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

export const serviceApprove = defineTool('service_approve', {
  title: 'Decide an approval of a descendant',
  description:
    'Decides an approval that a descendant of yours raised: a user its agent\'s, an agent its subagent\'s (relationship "downstream" in the pending_approval result). Allowing runs the suspended call. Returns the approval as it stands then.',
  annotations,
  input,
  output,
  tag: 'status',
  refusedAs: 'approval.refused',
  scope: 'approvals',
  run: (given, call) => resolve(given, call, 'ancestor'),
});

/** Listed only while the connection's `self_approve_enabled` is on, and checked on every call. */
export const serviceApproveSelf = defineTool('service_approve_self', {
  title: 'Decide your own approval',
  description:
    'Decides an approval that you raised yourself (relationship "self" in the pending_approval result). The user has switched this on for this connection and may switch it off at any time. Use it only for what the user has clearly asked for. Returns the approval as it stands then.',
  annotations,
  input: ownInput,
  output,
  tag: 'status',
  refusedAs: 'approval.refused',
  scope: 'approvals',
  run: async (given, call) => {
    if (!(await mayApproveSelf(call))) {
      throw new AppError(
        'self_approval_disabled',
        'Self-approval is not switched on for this connection; its user can do so in the dashboard.',
      );
    }
    return resolve(given, call, 'self');
  },
});

/** Read anew each time: the user may have switched it off a moment ago. */
export async function mayApproveSelf({
  deps,
  caller,
}: Pick<ToolCall, 'deps' | 'caller'>): Promise<boolean> {
  // Only a client that signed in by OAuth has a binding to switch it on for.
  if (caller.claims.credential.clientId === null) return false;
  const { principal } = caller;
  const { enabled } = await deps.auth.getSelfApproval({ principal }, deadlineIn(2_000));
  return enabled;
}

async function resolve(
  { approval_id: approvalId, ...body }: z.output<typeof input>,
  { deps, caller: { principal }, credential, context }: ToolCall,
  as: 'ancestor' | 'self',
): Promise<ToolAnswer> {
  if (body.resolution === 'allow_remember' && body.ttl === undefined) throw ttlMissing();
  const request = { principal, credential, id: approvalId, as, body, context };
  return result(await resolveApproval(deps, request, deadlineIn(resolveMsMax)));
}

/** Over REST the org's setting stands in; over MCP the caller names the `ttl` (docs/reference/approvals.md#remembering). */
function ttlMissing(): AppError {
  return new AppError('invalid_params', 'allow_remember needs a ttl, such as "24h" or "30d".', {
    details: { issues: [{ path: 'ttl', message: 'is required', expected: '1m to 365d' }] },
  });
}
