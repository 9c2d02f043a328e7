import type { secretRoutes } from '#contracts/http/secrets';
import type { Deps } from '../deps.ts';
import { answer, answerNoContent, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function secretHandlers({ executor }: Deps): HandlersOf<typeof secretRoutes> {
  return {
    listSecrets: ({ caller: { principal }, query, deadline }) =>
      answer(200, executor.listSecrets({ principal, page: pageRequestOf(query) }, deadline)),
    createSecret: ({ caller: { principal }, body, context, deadline }) =>
      answer(201, executor.createSecret({ principal, body, context }, deadline)),
    getSecret: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, executor.getSecret({ principal, id }, deadline)),
    listSecretVersions: ({ caller: { principal }, params: { id }, query, deadline }) =>
      answer(
        200,
        executor.listSecretVersions({ principal, id, page: pageRequestOf(query) }, deadline),
      ),
    updateSecret: ({ caller: { principal }, params: { id }, body, context, deadline }) =>
      answer(200, executor.updateSecret({ principal, id, body, context }, deadline)),
    restoreSecretVersion: ({ caller: { principal }, params, context, deadline }) =>
      answer(201, executor.restoreSecretVersion({ principal, ...params, context }, deadline)),
    deleteSecret: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answerNoContent(executor.deleteSecret({ principal, id, context }, deadline)),
  };
}
