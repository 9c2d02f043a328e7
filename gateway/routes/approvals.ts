import type { approvalRoutes } from '#contracts/http/approvals';
import type { Deps } from '../deps.ts';
import { answer, pageOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function approvalHandlers({ approvals }: Deps): HandlersOf<typeof approvalRoutes> {
  return {
    listApprovals: ({ caller: { principal }, query, deadline }) =>
      answer(
        200,
        approvals.list(
          {
            principal,
            page: pageOf(query),
            status: query.status ?? null,
            requesterId: query.requester ?? null,
            assignedToMe: query.assigned === 'me',
            service: query.service ?? null,
          },
          deadline,
        ),
      ),
    getApproval: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, approvals.get({ principal, id }, deadline)),
    resolveApproval: ({ caller: { principal }, params: { id }, body, context, deadline }) =>
      answer(200, approvals.resolve({ principal, id, as: 'ancestor', body, context }, deadline)),
    cancelApproval: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, approvals.cancel({ principal, id, context }, deadline)),
    callApproval: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, approvals.run({ principal, id, context }, deadline)),
  };
}
