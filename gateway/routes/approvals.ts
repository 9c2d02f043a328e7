import { showApproval } from '#contracts/card';
import type { StoredApproval } from '#contracts/card';
import type { approvalRoutes } from '#contracts/http/approvals';
import { resolveApproval } from '../allow.ts';
import type { Deps } from '../deps.ts';
import { answer, pageRequestOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function approvalHandlers(deps: Deps): HandlersOf<typeof approvalRoutes> {
  const { approvals, cards } = deps;
  const shown = async (id: string, stored: Promise<StoredApproval>) =>
    showApproval(await stored, cards, id);
  return {
    listApprovals: async ({ caller: { principal }, query, deadline }) => {
      const page = await approvals.list(
        {
          principal,
          page: pageRequestOf(query),
          status: query.status ?? null,
          requesterId: query.requester ?? null,
          assignedToMe: query.assigned === 'me',
          service: query.service ?? null,
        },
        deadline,
      );
      const items = page.items.map((item) => showApproval(item, cards));
      return { status: 200, body: { ...page, items } };
    },
    getApproval: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, shown(id, approvals.get({ principal, id }, deadline))),
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
      answer(200, shown(id, approvals.cancel({ principal, id, context }, deadline))),
    callApproval: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, shown(id, approvals.run({ principal, id, context }, deadline))),
  };
}
