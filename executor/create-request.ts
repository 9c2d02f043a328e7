import type { Deadline } from '#bus';
import type { CreateRequestBody, ServiceRequest } from '#contracts/http/requests';
import type { CallContext } from '#contracts/vocabulary';
import { requestConnection } from './connections/create-connection.ts';
import type { Deps } from './deps.ts';
import { requestService } from './person-requests/create-request.ts';
import { getRequest } from './person-requests/get-request.ts';
import { requestSecret } from './secrets/request-secret.ts';

interface CreateFields {
  readonly principal: string;
  readonly body: CreateRequestBody;
  readonly context: CallContext;
}

/** Asks a person for a service, an account or a secret. */
export async function createRequest(
  deps: Deps,
  { body, ...by }: CreateFields,
  deadline: Deadline,
): Promise<{ request: ServiceRequest; isNew: boolean }> {
  const { principal } = by;
  if (body.kind === 'service') return requestService(deps, { ...by, body }, deadline);
  if (body.kind === 'secret') {
    const { kind: _, ...fields } = body;
    const { id, token } = await requestSecret(deps, { ...by, body: fields }, deadline);
    return { request: await getRequest(deps, { principal, id }), isNew: token !== id };
  }
  const { kind: _, ...fields } = body;
  const { id, isNew } = await requestConnection(deps, { ...by, body: fields }, deadline);
  return { request: await getRequest(deps, { principal, id }), isNew };
}
