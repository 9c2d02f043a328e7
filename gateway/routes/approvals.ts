import { showApproval } from '#contracts/card';
import type { StoredApproval } from '#contracts/card';
import type { z } from 'zod';

import type { approvalRoutes, approvalsQuery } from '#contracts/http/approvals';
import type { Risk, RiskLevel } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { resolveApproval } from '../calls/resolve-approval.ts';
import type { Deps } from '../deps.ts';
import { answer, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';
import { withDisplayNames, withDisplayNamesOnPage } from '../people/display-names.ts';

export function approvalHandlers(deps: Deps): HandlersOf<typeof approvalRoutes> {
  const { approvals, auth, cards } = deps;
  const show = async (id: string, storedApproval: Promise<StoredApproval>) =>
    showApproval(await storedApproval, cards, id);
  return {
    listApprovals: async ({ caller: { principal }, query, deadline }) => {
      const page = approvals.list(
        {
          principal,
          page: pageRequestOf(query),
          status: query.status === 'decided' ? null : (query.status ?? null),
          requesterId: query.requester ?? null,
          assignedToMe: query.assigned === 'me',
          service: query.service ?? null,
          ...furtherConditionsOf(query),
        },
        deadline,
      );
      const shownPage = page.then(({ items, next_cursor }) => ({
        items: items.map((item) => showApproval(item, cards)),
        next_cursor,
      }));
      return answer(200, withDisplayNamesOnPage(auth, { principal, deadline }, shownPage));
    },
    getApproval: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(
        200,
        withDisplayNames(
          auth,
          { principal, deadline },
          show(id, approvals.get({ principal, id }, deadline)),
        ),
      ),
    explainApproval: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, approvals.explain({ principal, id }, deadline)),
    resolveApproval: ({
      caller: { principal },
      credential,
      params: { id },
      body,
      context,
      deadline,
    }) => {
      const resolving = { principal, credential, id, as: 'ancestor', body, context } as const;
      const resolved = resolveApproval(deps, resolving, deadline);
      return answer(200, withDisplayNames(auth, { principal, deadline }, resolved));
    },
    cancelApproval: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(
        200,
        withDisplayNames(
          auth,
          { principal, deadline },
          show(id, approvals.cancel({ principal, id, context }, deadline)),
        ),
      ),
    callApproval: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(
        200,
        withDisplayNames(
          auth,
          { principal, deadline },
          show(id, approvals.run({ principal, id, context }, deadline)),
        ),
      ),
  };
}

const searchWordsMax = 10;

/**
 * Returns conditions that components of an earlier release do not know. They are left out if they
 * are not needed, so that such a component can answer.
 */
function furtherConditionsOf({ status, q = '', risk, sort }: z.output<typeof approvalsQuery>) {
  const words = [...new Set(q.split(/\s+/u))].filter((word) => word !== '');
  if (words.length > searchWordsMax) {
    throw new AppError('invalid_request', `Search for ${searchWordsMax} words at most (q).`, {
      details: { issues: [{ path: 'q', message: `has more than ${searchWordsMax} words` }] },
    });
  }
  const further = {
    isDecided: status === 'decided',
    words,
    risk: risk === undefined ? null : riskOfLevel[risk],
    isOldestFirst: sort === 'oldest',
  };
  const isDefault =
    !further.isDecided && words.length === 0 && further.risk === null && !further.isOldestFirst;
  return isDefault ? {} : { further };
}

const riskOfLevel = { low: 'read', med: 'write', high: 'delete' } as const satisfies Record<
  RiskLevel,
  Risk
>;
