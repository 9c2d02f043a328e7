import type { auditRoutes } from '#contracts/http/audit';
import type { Deps } from '../deps.ts';
import { answer, pageRequestOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function auditHandlers({ audit }: Deps): HandlersOf<typeof auditRoutes> {
  return {
    listAudit({ caller: { principal }, query, deadline }) {
      const { limit, cursor, ...filter } = query;
      return answer(
        200,
        audit.list({ principal, page: pageRequestOf({ limit, cursor }), filter }, deadline),
      );
    },
    getAudit: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, audit.get({ principal, id }, deadline)),
    verifyAudit: ({ caller: { principal }, deadline }) =>
      answer(200, audit.verify({ principal }, deadline)),
  };
}
