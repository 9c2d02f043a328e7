import type { secretRequestRoutes } from '#contracts/http/secret-requests';
import { requestSecret } from '../calls/request-secret.ts';
import type { Deps } from '../deps.ts';
import { answer } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';
import { withDisplayNames } from '../people/display-names.ts';

export function secretRequestHandlers(deps: Deps): HandlersOf<typeof secretRequestRoutes> {
  const { auth, executor } = deps;
  return {
    async requestSecret({ caller: { principal }, body, context, deadline }) {
      const { isNew, request } = await requestSecret(deps, { principal, body, context }, deadline);
      return { status: isNew ? 201 : 200, body: request };
    },
    getSecretRequest: ({ caller: { principal }, params: { token }, deadline }) =>
      answer(
        200,
        withDisplayNames(
          auth,
          { principal, deadline },
          executor.getSecretRequest({ principal, token }, deadline),
        ),
      ),
    provideSecret: ({ caller: { principal }, params: { token }, body, context, deadline }) =>
      answer(201, executor.provideSecret({ principal, token, body, context }, deadline)),
  };
}
