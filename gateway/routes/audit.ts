import type { auditRoutes } from '#contracts/http/audit';
import type { Deps } from '../deps.ts';
import { answer, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';
import { listPeople } from '../people/display-names.ts';

export function auditHandlers({ audit, auth }: Deps): HandlersOf<typeof auditRoutes> {
  return {
    async listAudit({ caller: { principal }, query, deadline }) {
      const { limit, cursor, ...filter } = query;
      const page = await audit.list(
        { principal, page: pageRequestOf({ limit, cursor }), filter },
        deadline,
      );
      const people = await listPeople(auth, { principal, deadline }, page.items);
      return { status: 200, body: { ...page, ...people } };
    },
    async getAudit({ caller: { principal }, params: { id }, deadline }) {
      const auditDetail = await audit.get({ principal, id }, deadline);
      const people = await listPeople(auth, { principal, deadline }, auditDetail.rows);
      return { status: 200, body: { ...auditDetail, ...people } };
    },
    verifyAudit: ({ caller: { principal }, deadline }) =>
      answer(200, audit.verify({ principal }, deadline)),
    getUsage: ({ caller: { principal }, query, deadline }) =>
      answer(200, audit.usage({ principal, query }, deadline)),
  };
}
