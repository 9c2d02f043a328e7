import type { requestRoutes } from '#contracts/http/requests';
import type { Deps } from '../deps.ts';
import { answer, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';
import { nextAfterActionsLeftOut } from '../next/domain/next-step.ts';
import { withDisplayNames, withDisplayNamesOnPage } from '../people/display-names.ts';

export function requestHandlers({ auth, executor }: Deps): HandlersOf<typeof requestRoutes> {
  return {
    async createRequest({ caller: { principal, claims }, body, context, deadline }) {
      const { request, isNew } = await executor.createRequest(
        { principal, body, context },
        deadline,
      );
      const mayReplace = request.actions_left_out && request.requester.id === claims.identityId;
      const next = !isNew && mayReplace ? nextAfterActionsLeftOut(request).request : null;
      const namedRequest = withDisplayNames(
        auth,
        { principal, deadline },
        Promise.resolve(request),
      );
      return {
        status: isNew ? 201 : 200,
        body: { ...(await namedRequest), ...(next && { next }) },
      };
    },
    listRequests: ({ caller: { principal }, query, deadline }) =>
      answer(
        200,
        withDisplayNamesOnPage(
          auth,
          { principal, deadline },
          executor.listRequests(
            { principal, page: pageRequestOf(query), status: query.status ?? null },
            deadline,
          ),
        ),
      ),
    getRequest: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(
        200,
        withDisplayNames(
          auth,
          { principal, deadline },
          executor.getRequest({ principal, id }, deadline),
        ),
      ),
    declineRequest: ({ caller: { principal }, params: { id }, body, context, deadline }) =>
      answer(
        200,
        withDisplayNames(
          auth,
          { principal, deadline },
          executor.declineRequest({ principal, id, body, context }, deadline),
        ),
      ),
    cancelRequest: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(
        200,
        withDisplayNames(
          auth,
          { principal, deadline },
          executor.cancelRequest({ principal, id, context }, deadline),
        ),
      ),
  };
}
