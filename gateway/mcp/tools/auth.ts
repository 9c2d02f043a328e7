import { z } from 'zod';

import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { Access } from '#contracts/http/define';
import { connection, createConnectionBody } from '#contracts/http/connections';
import { createSubagentBody, identity } from '#contracts/http/identities';
import { createdSecretRequest, requestSecretBody } from '#contracts/http/secret-requests';
import { connectedService } from '#contracts/http/services';
import type { ConnectedService } from '#contracts/http/services';
import { chainLink, nameReference, scope } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { invalidRequest } from '../../domain/validate.ts';
import { requestSecret } from '../../routes/secret-requests.ts';
import { defineTool, result } from '../tool.ts';
import type { Structured, ToolCall } from '../tool.ts';

const requestMsMax = 3_000;
const connectionMsMax = 6_000;
const pageSize = 200;
/** Of one user's services; more are not looked at. */
const pagesMax = 5;

/** What each operation takes beside its name, and the scope it needs. */
const operations = {
  whoami: { fields: [], scope: 'any' },
  service_status: { fields: ['service'], scope: 'actions:read' },
  create_subagent: { fields: ['name', 'parent_id', 'inherit_permissions', 'ttl'], scope: 'agents' },
  request_secret: { fields: ['name', 'reason', 'ttl', 'allowed_hosts', 'tier'], scope: 'agents' },
  request_connection: { fields: ['provider', 'template', 'scopes', 'name'], scope: 'agents' },
} as const satisfies Record<string, { fields: readonly string[]; scope: Access }>;
type Operation = keyof typeof operations;

const input = z.strictObject({
  operation: z.enum(Object.keys(operations) as [Operation, ...Operation[]]),
  service: z
    .string()
    .max(67)
    .describe('service_status: one service; all of them without it.')
    .optional(),
  name: createSubagentBody.shape.name
    .describe(
      'create_subagent, request_secret: its name; lower-case letters, digits, "_" and "-". request_connection: what to keep it as; default the provider.',
    )
    .optional(),
  parent_id: createSubagentBody.shape.parent_id.describe('create_subagent: default you.'),
  inherit_permissions: createSubagentBody.shape.inherit_permissions.describe(
    'create_subagent: whether it may do what its parent may. Default false.',
  ),
  ttl: createSubagentBody.shape.ttl.describe(
    'create_subagent: how long it lives, such as "24h". Default: for good. request_secret: how long the link works, 7 days at most. Default: 24h.',
  ),
  reason: requestSecretBody.shape.reason.describe(
    'request_secret: what it is for, told to the person.',
  ),
  allowed_hosts: requestSecretBody.shape.allowed_hosts.describe(
    'request_secret: hosts it is to be sent to, such as "api.example.com". The person confirms them.',
  ),
  tier: requestSecretBody.shape.tier.describe(
    "request_secret: your user's own (user, the default), or the org's (org), which an admin enters.",
  ),
  provider: createConnectionBody.shape.provider.describe(
    'request_connection: at whom, such as "google"; or give template.',
  ),
  template: createConnectionBody.shape.template.describe(
    'request_connection: the template whose service will use it.',
  ),
  scopes: createConnectionBody.shape.scopes.describe(
    'request_connection: what you need, in the words of the provider.',
  ),
});
type Input = z.output<typeof input>;

const serviceStatus = connectedService.pick({
  name: true,
  template: true,
  title: true,
  status: true,
  tier: true,
  missing: true,
});

export const serviceAuth = defineTool('service_auth', {
  title: 'Identity and credentials',
  description: `Who you are and what is connected. Operations:
- whoami: your identity, the chain of identities above you (your user first), your org and your scopes.
- service_status: whether connected services have the credentials they need, and what is missing. Show your user an auth_url; ask for what is absent with request_secret or request_connection.
- create_subagent: makes a subagent below you, with a name and, if you like, a ttl.
- request_secret: asks a person for a new secret by its name. Give them the provide_url of the answer; they enter the value there, and you use it by its name without seeing it.
- request_connection: asks your user for access to its account at a provider, or for more scopes of it. Show your user authorization_url: nothing is connected before it has been there.`,
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  },
  input,
  output: {
    operation: input.shape.operation,
    identity,
    chain: z.array(chainLink.omit({ inheritPermissions: true })),
    org: z.looseObject({ id: z.string(), name: z.string() }),
    scopes: z.array(scope),
    client: z
      .looseObject({ id: z.string() })
      .nullable()
      .describe('The OAuth client, if you came by one.'),
    services: z.array(serviceStatus),
    request: createdSecretRequest,
    connection: connection.describe('Pending until your user has completed it.'),
    authorization_url: z.string().describe('For your user, in its browser.'),
  },
  tag: 'operation',
  refusedAs: 'request.refused',
  scope: (given) => operationOf(given)?.scope ?? 'any',
  run: async (given, call) => {
    const { operation } = given;
    const allowed: readonly string[] = ['operation', ...operations[operation].fields];
    const extra = Object.keys(given).filter((field) => !allowed.includes(field));
    if (extra.length > 0) {
      throw invalidRequest(
        'The arguments do not go together; correct the fields named in issues.',
        extra.map((path) => ({ path, message: `does not go with ${operation}; leave it out` })),
      );
    }
    return result({ operation, ...(await run[operation](given, call)) });
  },
});

function operationOf(given: unknown): (typeof operations)[Operation] | undefined {
  const parsed = z.object({ operation: input.shape.operation }).safeParse(given);
  return parsed.success ? operations[parsed.data.operation] : undefined;
}

const run: Record<Operation, (given: Input, call: ToolCall) => Promise<Structured>> = {
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

  async service_status({ service }, { deps, caller: { principal } }) {
    const found =
      service === undefined
        ? await listServices(deps.registry, principal)
        : [await getService({ deps, principal, name: service })];
    return {
      services: found.map(({ name, template, title, status, tier, missing }) => ({
        name,
        template,
        title,
        status,
        tier,
        ...(missing === undefined ? {} : { missing }),
      })),
    };
  },

  async create_subagent({ name, parent_id, inherit_permissions, ttl }, { deps, caller, context }) {
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

  async request_secret({ name, reason, ttl, allowed_hosts, tier }, { deps, caller, context }) {
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
    };
    const { principal } = caller;
    const request = requestSecret(deps, { principal, body, context }, deadlineIn(requestMsMax));
    return { request: await request };
  },

  async request_connection({ provider, template, scopes, name }, { deps, caller, context }) {
    const body = createConnectionBody.safeParse({
      ...(provider === undefined ? {} : { provider }),
      ...(template === undefined ? {} : { template }),
      ...(scopes === undefined ? {} : { scopes }),
      ...(name === undefined ? {} : { name }),
    });
    if (!body.success) {
      throw invalidRequest('request_connection needs a provider or a template, and not both.', [
        { path: 'provider', message: 'is required, unless template is given' },
      ]);
    }
    const { authorization_url, ...asked } = await deps.executor.createConnection(
      { principal: caller.principal, body: body.data, context },
      deadlineIn(connectionMsMax),
    );
    return { connection: asked, authorization_url };
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
  throw new AppError(
    'unknown_service',
    'No service has that name; service_status without service lists them.',
  );
}

/** Connected services by the name that reaches them: `org/github` where a user's own shadows it. */
async function listServices(
  client: Client<typeof registry>,
  principal: string,
): Promise<ConnectedService[]> {
  const all = await pages((page) =>
    client.listServices({ principal, page }, deadlineIn(requestMsMax)),
  );
  const own = new Set(all.filter(({ tier }) => tier === 'user').map(({ name }) => name));
  return all.map((service) => {
    const isShadowed = service.tier === 'org' && own.has(service.name);
    return isShadowed ? { ...service, name: `org/${service.name}` } : service;
  });
}

async function pages<Item>(
  read: (page: {
    limit: number;
    cursor: string | null;
  }) => Promise<{ items: Item[]; next_cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  for (let count = 0; count < pagesMax; count += 1) {
    const page = await read({ limit: pageSize, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  return items;
}
