import { v7 as uuidv7 } from 'uuid';

import type { Deadline } from '#bus';
import type { ServiceRequest, ServiceRequestBody } from '#contracts/http/requests';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { requirePlainText } from './domain/plain-text.ts';
import { requestTtlSeconds } from './domain/request-limits.ts';
import { getWantedTemplate, requireFreeName, requireNoDeny } from './look-up-wanted.ts';
import { presentRequest } from './present-request.ts';
import { raiseRequest } from './raise-request.ts';

interface CreateFields {
  readonly principal: string;
  readonly body: ServiceRequestBody;
  readonly context: CallContext;
}

/**
 * Asks a person to connect a service. The requester gives no address and no credential; the person
 * who connects does (docs/reference/requests.md#service).
 */
export async function requestService(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'baseUrl' | 'owners' | 'requestsPerHour'>,
  { principal: signed, body: givenBody, context }: CreateFields,
  deadline: Deadline,
): Promise<{ request: ServiceRequest; isNew: boolean }> {
  const principal = deps.readPrincipal(signed);
  // Template keys have no capital letters. A deny rule contains the key, so the request is compared
  // in lower case too.
  const body = { ...givenBody, template: givenBody.template.toLowerCase() };
  if (principal.role === 'auditor') {
    throw new AppError('forbidden', 'An auditor asks for nothing; ask a member to.');
  }
  requirePlainText('reason', body.reason);
  // The names of an MCP server's tools are not compared with a list, so an agent may write anything
  // here.
  for (const [at, action] of (body.actions ?? []).entries()) {
    requirePlainText(`actions.${at}`, action);
  }
  const { orgId, userId } = principal;
  const tier = body.tier ?? 'user';
  await requireNoDeny(deps.owners, { signed, body }, deadline);
  const template = await getWantedTemplate(deps.owners, { signed, body }, deadline);
  const name = body.name ?? template.key;
  await requireFreeName(deps, { orgId, userId, tier, name }, deadline);

  const { request, isNew } = await deps.db.transaction((tx) =>
    raiseRequest(tx, {
      by: { principal, context },
      requestsPerHour: deps.requestsPerHour,
      wanted: {
        id: uuidv7(),
        kind: 'service',
        tier,
        template: { key: template.key, title: template.title },
        name,
        actions: [...new Set(body.actions)],
        scopes: [],
        hosts: template.hosts,
        reason: body.reason ?? null,
        connectionId: null,
        ttlSeconds: requestTtlSeconds,
      },
    }),
  );
  // The actions of an open request stay as they are: another asker may have given them, and the
  // person may have begun to connect with them.
  const leftOut = [...new Set(body.actions)].filter((each) => !request.actions.includes(each));
  const presented = presentRequest(deps, request);
  return {
    request: leftOut.length === 0 ? presented : { ...presented, actions_left_out: leftOut },
    isNew,
  };
}
