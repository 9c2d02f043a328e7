import type { approvalRoutes } from '#contracts/http/approvals';
import { resolveApproval } from '../allow.ts';
import type { Deps } from '../deps.ts';
import { answer, pageOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function approvalHandlers(deps: Deps): HandlersOf<typeof approvalRoutes> {
  const { approvals } = deps;
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
      answer(200, withoutProof(approvals.get({ principal, id }, deadline))),
    resolveApproval: ({
      caller: { principal },
      credential,
      params: { id },
      body,
      context,
      deadline,
    }) => {
      const resolving = { principal, credential, id, as: 'ancestor', body, context } as const;
      return answer(200, resolveApproval(deps, resolving, deadline));
    },
    cancelApproval: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, approvals.cancel({ principal, id, context }, deadline)),
    callApproval: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, approvals.run({ principal, id, context }, deadline)),
  };
}

async function withoutProof<T extends { readonly proof: unknown }>(
  got: Promise<T>,
): Promise<Omit<T, 'proof'>> {
  const { proof: _, ...approval } = await got;
  return approval;
}
