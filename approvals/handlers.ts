import { bind } from '#bus';
import type { Handlers } from '#bus';
import type { approvals } from '#contracts/bus/approvals';
import { explainApproval } from './approval/explain-approval.ts';
import { getApproval } from './approval/get-approval.ts';
import { listApprovals } from './approval/list-approvals.ts';
import { resolveApproval } from './decisions/resolve-approval.ts';
import type { Relay } from '#events';
import type { DepsWithReplays } from './deps.ts';
import { resumeApproval } from './executions/resume-approval.ts';
import { runApproval } from './executions/run-approval.ts';
import { cancelApproval } from './moves/cancel-approval.ts';
import { raiseApproval } from './raising/raise-approval.ts';

export function createHandlers(
  deps: DepsWithReplays,
  relay: Pick<Relay, 'backlog'>,
): Handlers<typeof approvals> {
  return bind(deps, {
    raise: raiseApproval,
    resume: resumeApproval,
    get: getApproval,
    explain: explainApproval,
    list: listApprovals,
    resolve: resolveApproval,
    cancel: cancelApproval,
    run: runApproval,
    ping: async () => ({ outbox: relay.backlog() }),
  });
}
