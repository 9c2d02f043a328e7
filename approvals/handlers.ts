import type { Handlers } from '#bus';
import type { approvals } from '#contracts/bus/approvals';
import type { DepsWithReplays } from './deps.ts';
import { cancelApproval } from './usecases/cancel-approval.ts';
import { getApproval } from './usecases/get-approval.ts';
import { listApprovals } from './usecases/list-approvals.ts';
import { raiseApproval } from './usecases/raise-approval.ts';
import { resolveApproval } from './usecases/resolve-approval.ts';
import { resumeApproval } from './usecases/resume-approval.ts';
import { runApproval } from './usecases/run-approval.ts';

export function createHandlers(deps: DepsWithReplays): Handlers<typeof approvals> {
  return {
    raise: (request, deadline) => raiseApproval(deps, request, deadline),
    resume: (request, deadline) => resumeApproval(deps, request, deadline),
    get: (request) => getApproval(deps, request),
    list: (request) => listApprovals(deps, request),
    resolve: (request, deadline) => resolveApproval(deps, request, deadline),
    cancel: (request) => cancelApproval(deps, request),
    run: (request, deadline) => runApproval(deps, request, deadline),
    ping: async () => ({}),
  };
}
