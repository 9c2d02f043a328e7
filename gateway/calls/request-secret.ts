import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { createdSecretRequest, secretRequestRoutes } from '#contracts/http/secret-requests';
import type { CallContext } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';

type SecretRequestFields = {
  principal: string;
  body: z.output<(typeof secretRequestRoutes)['requestSecret']['body']>;
  context: CallContext;
};

/**
 * Requests a secret, for REST and MCP. The executor creates the one-time token, and the gateway
 * builds the link from it, because only the gateway knows its own public address.
 */
export async function requestSecret(
  { executor, site }: Pick<Deps, 'executor' | 'site'>,
  fields: SecretRequestFields,
  deadline: Deadline,
): Promise<{ request: z.output<typeof createdSecretRequest>; isNew: boolean }> {
  const { token, ...request } = await executor.requestSecret(fields, deadline);
  return {
    request: { ...request, provide_url: `${site().baseUrl}/provide/${token}` },
    // If the request was already open, `token` is its id, because its real token was shown only
    // once.
    isNew: token !== request.id,
  };
}
