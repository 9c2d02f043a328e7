import { z } from 'zod';

import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { Access } from '#contracts/http/define';
import { createConnectionBody } from '#contracts/http/connections';
import { createSubagentBody } from '#contracts/http/identities';
import { serviceRequestBody } from '#contracts/http/requests';
import { requestSecretBody } from '#contracts/http/secret-requests';
import type { ConnectedService } from '#contracts/http/services';
import { id, nameReference } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { nameMeantBy } from '../input/domain/name-meant.ts';
import { invalidRequest } from '../input/domain/validate.ts';
import { requestSecret } from '../calls/request-secret.ts';
import {
  cancelRequest,
  invalidArgumentsError,
  requestService,
  readRequestStatus,
  createWaitStep,
  waitSecondsMax,
} from './service-requests.ts';
import { withoutDescription, defineTool, result } from './tool.ts';
import type { Structured, ToolCall } from './tool.ts';

const requestMsMax = 3_000;
const connectionMsMax = 6_000;
const pageSize = 200;
/** The most pages that are read from the list of a user's services. */
const pagesMax = 5;

/** For each operation, the fields that it accepts and the scope that it needs. */
const operationSpecs = {
  whoami: { fields: [], scope: 'any' },
  service_status: { fields: ['service', 'request', 'wait'], scope: 'actions:read' },
  create_subagent: { fields: ['name', 'parent_id', 'inherit_permissions', 'ttl'], scope: 'agents' },
  request_service: { fields: ['template', 'name', 'actions', 'reason', 'tier'], scope: 'agents' },
  request_secret: {
    fields: ['name', 'reason', 'ttl', 'allowed_hosts', 'tier', 'template'],
    scope: 'agents',
  },
  request_connection: {
    fields: ['provider', 'template', 'connection', 'scopes', 'name', 'reason'],
    scope: 'agents',
  },
  cancel_request: { fields: ['request'], scope: 'agents' },
} as const satisfies Record<string, { fields: readonly string[]; scope: Access }>;
type Operation = keyof typeof operationSpecs;

/**
 * All fields of all operations. The description of the tool tells which operation takes which of
 * them.
 */
const input = z.strictObject({
  operation: z.enum(Object.keys(operationSpecs) as [Operation, ...Operation[]]),
  service: z.string().max(67).optional(),
  request: id.optional(),
  wait: z.int().min(0).max(waitSecondsMax).optional(),
  name: withoutDescription(createSubagentBody.shape.name).optional(),
  parent_id: withoutDescription(createSubagentBody.shape.parent_id),
  inherit_permissions: withoutDescription(createSubagentBody.shape.inherit_permissions),
  ttl: createSubagentBody.shape.ttl.describe('Such as "24h".'),
  reason: withoutDescription(requestSecretBody.shape.reason),
  allowed_hosts: withoutDescription(requestSecretBody.shape.allowed_hosts),
  tier: requestSecretBody.shape.tier.describe('org: an admin answers.'),
  provider: withoutDescription(createConnectionBody.shape.provider),
  connection: z.string().max(36).optional(),
  template: createConnectionBody.shape.template.describe('From service_search with catalog.'),
  actions: withoutDescription(serviceRequestBody.shape.actions),
  scopes: withoutDescription(createConnectionBody.shape.scopes),
});
type Input = z.output<typeof input>;

export const serviceAuth = defineTool('service_auth', {
  title: 'Identity and credentials',
  description: `Who you are, what is connected, asking people for more. Operations and fields ([optional]):
- whoami: you, who is above you, org, scopes.
- service_status [service]: services and what they miss. With request [wait]: its state.
- request_service template reason [name actions tier]: a service to connect. Show url, then follow next.
- request_secret name [template reason ttl allowed_hosts tier]: show provide_url.
- request_connection provider|template|connection [scopes name reason]: an account, or more of its scopes; show authorization_url.
- cancel_request request.
- create_subagent name [parent_id inherit_permissions ttl].`,
  annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  input,
  refusedAs: 'request.refused',
  scope: (given) => {
    // Reading a request needs the same scope as making one.
    const statusOfRequest = z.object({
      operation: z.literal('service_status'),
      request: z.string(),
    });
    if (statusOfRequest.safeParse(given).success) return 'agents';
    return operationSpecOf(given)?.scope ?? 'any';
  },
  run: async (toolArguments, call) => {
    const { operation } = toolArguments;
    const allowed: readonly string[] = ['operation', ...operationSpecs[operation].fields];
    const extraFields = Object.keys(toolArguments).filter((field) => !allowed.includes(field));
    if (extraFields.length > 0) {
      throw invalidRequest(
        'The arguments do not go together; correct the fields named in issues.',
        extraFields.map((path) => ({
          path,
          message: `does not go with ${operation}; leave it out`,
        })),
      );
    }
    return result({ operation, ...(await operationHandlers[operation](toolArguments, call)) });
  },
});

function operationSpecOf(givenArguments: unknown): (typeof operationSpecs)[Operation] | undefined {
  const parseResult = z.object({ operation: input.shape.operation }).safeParse(givenArguments);
  return parseResult.success ? operationSpecs[parseResult.data.operation] : undefined;
}

const operationHandlers: Record<Operation, (given: Input, call: ToolCall) => Promise<Structured>> =
  {
    async whoami(_given, { deps, caller }) {
      const { principal, claims } = caller;
      const {
        org,
        scopes,
        credential: _,
        ...identity
      } = await deps.auth.getMe({ principal }, deadlineIn(requestMsMax));
      const { clientId } = claims.credential;
      return {
        identity,
        chain: claims.chain.map(({ id, kind, name }) => ({ id, kind, name })),
        org,
        scopes,
        client: clientId === null ? null : { id: clientId },
      };
    },

    async service_status({ service, request, wait }, call) {
      if (request !== undefined || wait !== undefined) {
        return readRequestStatus({ service, request, wait }, call);
      }
      const { deps } = call;
      const { principal } = call.caller;
      const authReply =
        service === undefined
          ? await listServices(deps.registry, principal)
          : [await getService({ deps, principal, name: service })];
      return {
        services: authReply.map((each) => ({
          name: each.name,
          template: each.template,
          title: each.title,
          status: each.status,
          tier: each.tier,
          ...(each.missing && { missing: each.missing }),
          ...(each.refused && { refused: each.refused }),
          ...(each.disabled_actions && { disabled_actions: each.disabled_actions }),
        })),
      };
    },

    async create_subagent(
      { name, parent_id, inherit_permissions, ttl },
      { deps, caller, context },
    ) {
      if (name === undefined) {
        throw invalidRequest('create_subagent needs a name.', [
          { path: 'name', message: 'is required' },
        ]);
      }
      const body = {
        name,
        ...(parent_id === undefined ? {} : { parent_id }),
        ...(inherit_permissions === undefined ? {} : { inherit_permissions }),
        ...(ttl === undefined ? {} : { ttl }),
      };
      const { principal } = caller;
      const created = deps.auth.createSubagent(
        { principal, body, context },
        deadlineIn(requestMsMax),
      );
      return { identity: await created };
    },

    request_service: requestService,
    cancel_request: cancelRequest,

    async request_secret(
      { name, reason, ttl, allowed_hosts, tier, template },
      { deps, caller, context },
    ) {
      if (name === undefined) {
        throw invalidRequest('request_secret needs a name.', [
          { path: 'name', message: 'is required' },
        ]);
      }
      const body = {
        name,
        ...(reason === undefined ? {} : { reason }),
        ...(ttl === undefined ? {} : { ttl }),
        ...(allowed_hosts === undefined ? {} : { allowed_hosts }),
        ...(tier === undefined ? {} : { tier }),
        ...(template === undefined ? {} : { template }),
      };
      const { principal } = caller;
      const fields = { principal, body, context };
      const { request } = await requestSecret(deps, fields, deadlineIn(requestMsMax));
      return { request, next: createWaitStep(request.id, 'provide_url') };
    },

    async request_connection(
      { provider, template, connection, scopes, name, reason },
      { deps, caller, context },
    ) {
      const body = createConnectionBody.safeParse({
        ...(provider === undefined ? {} : { provider }),
        ...(template === undefined ? {} : { template }),
        ...(connection === undefined ? {} : { connection }),
        ...(scopes === undefined ? {} : { scopes }),
        ...(name === undefined ? {} : { name }),
        ...(reason === undefined ? {} : { reason }),
      });
      if (!body.success) {
        const givenSources = [provider, template, connection].filter((each) => each !== undefined);
        throw givenSources.length === 1
          ? invalidArgumentsError(body.error)
          : invalidRequest('request_connection needs one of provider, template and connection.', [
              { path: 'provider', message: 'is required, unless template or connection is given' },
            ]);
      }
      const {
        authorization_url,
        request_id: request,
        ...requestedConnection
      } = await deps.executor.createConnection(
        { principal: caller.principal, body: body.data, context },
        deadlineIn(connectionMsMax),
      );
      const next = request === undefined ? undefined : createWaitStep(request, 'authorization_url');
      return {
        connection: requestedConnection,
        authorization_url,
        ...(next && { request_id: request, next }),
      };
    },
  };

function getService({
  deps,
  principal,
  name,
}: {
  deps: ToolCall['deps'];
  principal: string;
  name: string;
}) {
  if (nameReference.safeParse(name).success) {
    return deps.registry.getService({ principal, name }, deadlineIn(requestMsMax));
  }
  const suggestedName = nameMeantBy(name);
  throw new AppError(
    'unknown_service',
    'No service has that name; service_status without service lists them.',
    { details: suggestedName === undefined ? {} : { did_you_mean: suggestedName } },
  );
}

/**
 * Lists connected services by the name that a call must give. For a service of the org this is
 * `org/github` if the user has a service `github` of their own, because the user's own takes
 * precedence.
 */
async function listServices(
  client: Client<typeof registry>,
  principal: string,
): Promise<ConnectedService[]> {
  const allServices = await readAllPages((page) =>
    client.listServices({ principal, page }, deadlineIn(requestMsMax)),
  );
  const ownNames = new Set(
    allServices.filter(({ tier }) => tier === 'user').map(({ name }) => name),
  );
  return allServices.map((service) => {
    const isShadowed = service.tier === 'org' && ownNames.has(service.name);
    return isShadowed ? { ...service, name: `org/${service.name}` } : service;
  });
}

async function readAllPages<Item>(
  readPage: (page: {
    limit: number;
    cursor: string | null;
  }) => Promise<{ items: Item[]; next_cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  for (let count = 0; count < pagesMax; count += 1) {
    const page = await readPage({ limit: pageSize, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  return items;
}
