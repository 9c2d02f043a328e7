import type { Deadline } from '#bus';
import type { createdSecretRequest, secretRequestRoutes } from '#contracts/http/secret-requests';
import type { CallContext } from '#contracts/vocabulary';
import type { z } from 'zod';
import type { Deps } from '../deps.ts';
import { answer } from '../route.ts';
import type { HandlersOf } from '../route.ts';

type SecretRequestFields = {
  principal: string;
  body: z.output<(typeof secretRequestRoutes)['requestSecret']['body']>;
  context: CallContext;
};

/** For REST and MCP alike: the executor makes the token, and only here is known what we are called. */
export async function requestSecret(
  { executor, site }: Pick<Deps, 'executor' | 'site'>,
  fields: SecretRequestFields,
  deadline: Deadline,
): Promise<z.output<typeof createdSecretRequest>> {
  const { token, ...request } = await executor.requestSecret(fields, deadline);
  return { ...request, provide_url: `${site().baseUrl}/provide/${token}` };
}

export function secretRequestHandlers(deps: Deps): HandlersOf<typeof secretRequestRoutes> {
  const { executor } = deps;
  return {
    requestSecret: ({ caller: { principal }, body, context, deadline }) =>
      answer(201, requestSecret(deps, { principal, body, context }, deadline)),
    getSecretRequest: ({ caller: { principal }, params: { token }, deadline }) =>
      answer(200, executor.getSecretRequest({ principal, token }, deadline)),
    provideSecret: ({ caller: { principal }, params: { token }, body, context, deadline }) =>
      answer(201, executor.provideSecret({ principal, token, body, context }, deadline)),
  };
}
