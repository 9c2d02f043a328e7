import type { profileRoutes } from '#contracts/http/profile';
import type { Deps } from '../deps.ts';
import { answer } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function profileHandlers({ auth }: Deps): HandlersOf<typeof profileRoutes> {
  return {
    getProfile: ({ caller: { principal }, deadline }) =>
      answer(200, auth.getProfile({ principal }, deadline)),
    changeProfile: ({ caller: { principal }, body, context, deadline }) =>
      answer(200, auth.changeProfile({ principal, body, context }, deadline)),
    visitProfile: ({ caller: { principal }, deadline }) =>
      answer(200, auth.visitProfile({ principal }, deadline)),
  };
}
