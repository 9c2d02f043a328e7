import { v7 as uuidv7 } from 'uuid';

import type { Deadline } from '#bus';
import type { AccountAddress } from '#contracts/account-value';
import type { Connection, CreateConnectionBody } from '#contracts/http/connections';
import type { TokenActor } from '#contracts/oauth-provider';
import type { CallContext, Principal, Tier } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { hasProviderUrls, isSameKind, scopeRowOf, tokenKindOf } from '#providers';
import { requirePlainText } from '../person-requests/domain/plain-text.ts';
import { requestTtlSeconds } from '../person-requests/domain/request-limits.ts';
import type { PersonRequest } from '../person-requests/person-request-row.sql.ts';
import { raiseRequest } from '../person-requests/raise-request.ts';
import type { WantedRequest } from '../person-requests/raise-request.ts';
import { askForAccess } from './ask-for-access.ts';
import {
  getVisibleConnection,
  connectionForbiddenError,
  presentConnection,
} from './present-connection.ts';
import { findRequiredApp } from '../providers/provider-apps.ts';
import type { Deps } from '../deps.ts';
import { mayWriteCredential, parseHosts } from '../credentials/domain/credential-rules.ts';
import {
  countPendingConnections,
  insertConnection,
  listConnectionsByName,
} from './connection.sql.ts';
import type { StoredConnection } from './connection.sql.ts';
import { checkHostsAreKnown } from '../credentials/check-known-hosts.ts';

/** The requested access, read from either form of the request body. */
interface AccessRequest {
  readonly provider: string;
  readonly actsAs: TokenActor | null;
  readonly template: string | null;
  readonly scopes: readonly string[];
  readonly hosts: readonly string[];
  /**
   * How to look up the address of the service in the account; null when the address does not depend
   * on the account.
   */
  readonly address: AccountAddress | null;
}

interface CreateFields {
  readonly principal: string;
  readonly body: CreateConnectionBody;
  readonly context: CallContext;
}

const pendingConnectionsMax = 20;

/**
 * Requests access, for a new connection or for more scopes on an existing one. Nothing is connected
 * or changed until the owner has granted access at the provider, so an agent may request access for
 * its user.
 */
export async function createConnection(
  deps: Deps,
  { principal: signed, body, context }: CreateFields,
  deadline: Deadline,
): Promise<Connection & { authorization_url: string; request_id?: string }> {
  const requestedAccess = await requestAccess(
    deps,
    { principal: signed, body, context, isOfUser: false },
    deadline,
  );
  const { connection, flowId, request } = requestedAccess;
  return {
    ...presentConnection(connection),
    authorization_url: deps.flowUrlOf(flowId),
    ...(request && { request_id: request.id }),
  };
}

/**
 * Like `createConnection`, for a request of kind `connection`. Here a person's request for an own
 * account is recorded too.
 */
export async function requestConnection(
  deps: Deps,
  fields: CreateFields,
  deadline: Deadline,
): Promise<{ id: string; isNew: boolean }> {
  const { request, isNew } = await requestAccess(deps, { ...fields, isOfUser: true }, deadline);
  if (request === null) throw new Error('a request of a user was not recorded');
  return { id: request.id, isNew };
}

interface RequestedAccess {
  readonly connection: StoredConnection;
  readonly flowId: string;
  /** Null when a person connects an account without a request to anybody. */
  readonly request: PersonRequest | null;
  readonly isNew: boolean;
}

async function requestAccess(
  deps: Deps,
  { principal: signed, body, context, isOfUser }: CreateFields & { readonly isOfUser: boolean },
  deadline: Deadline,
): Promise<RequestedAccess> {
  const { requestsPerHour } = deps;
  const principal = deps.readPrincipal(signed);
  const { orgId } = principal;
  const existingConnection =
    body.connection === undefined
      ? undefined
      : await getVisibleConnection(deps.db, principal, body.connection);
  if (existingConnection?.status === 'revoked') {
    throw new AppError('conflict', 'This connection was revoked; make a new one.');
  }
  const tier = existingConnection?.tier ?? body.tier ?? 'user';
  checkMayAsk(
    principal,
    existingConnection ?? { tier, ownerId: tier === 'user' ? principal.userId : null },
  );
  const access =
    existingConnection === undefined
      ? await readAccessRequest(deps, { signed, principal, body, tier }, deadline)
      : {
          provider: existingConnection.provider,
          actsAs: existingConnection.actsAs,
          template: existingConnection.template,
          scopes: body.scopes ?? [],
          hosts: [],
          address: null,
        };
  await findRequiredApp(deps.apps, { orgId, provider: access.provider });
  checkTokenKind(access);

  requirePlainText('reason', body.reason);
  const isRecorded = isOfUser || principal.kind !== 'user';

  return deps.db.transaction(async (tx) => {
    const targetConnection =
      existingConnection ??
      (await findOrInsertConnection(tx, {
        principal,
        access,
        tier,
        name: body.name ?? access.provider,
      }));
    const by = { principal, context };
    const wantedRequest = wantedRequestOf(targetConnection, access, body.reason);
    const raisedRequest = isRecorded
      ? await raiseRequest(tx, { by, wanted: wantedRequest, requestsPerHour })
      : null;
    const isCounted = raisedRequest?.isNew === true;
    const flowId = await askForAccess(tx, {
      connection: targetConnection,
      access,
      by,
      requestsPerHour: isCounted ? 0 : requestsPerHour,
    });
    return {
      connection: targetConnection,
      flowId,
      request: raisedRequest?.request ?? null,
      isNew: raisedRequest?.isNew ?? true,
    };
  });
}

/** The record of the request, with the texts for its page. */
function wantedRequestOf(
  { id: connectionId, tier, name }: StoredConnection,
  { template, scopes, hosts }: AccessRequest,
  reason: string | undefined,
): WantedRequest {
  return {
    id: uuidv7(),
    kind: 'connection',
    tier,
    template: template === null ? null : { key: template, title: template },
    name,
    actions: [],
    scopes: [...new Set(scopes)],
    hosts: hosts.slice(0, 50),
    reason: reason ?? null,
    connectionId,
    ttlSeconds: requestTtlSeconds,
  };
}

/** Refuses scopes that the provider never grants to this kind of token. */
function checkTokenKind({ provider, actsAs, scopes }: AccessRequest): void {
  const row = scopeRowOf(provider);
  const kind = actsAs ?? 'user';
  const unfitScope = scopes.find((scope) => {
    const onlyKind = tokenKindOf(row, scope);
    return onlyKind !== undefined && onlyKind !== kind;
  });
  if (unfitScope === undefined) return;
  const message = `"${unfitScope}" is granted to a ${tokenKindOf(row, unfitScope)} only, and this is access as a ${kind}`;
  throw new AppError('invalid_params', `The scope ${message}. Leave it out.`, {
    details: { issues: [{ path: 'scopes', message }] },
  });
}

/**
 * Access may be requested by the people who may complete the connection, and by the agents of the
 * connection's owner.
 */
function checkMayAsk(
  principal: Principal,
  connection: Pick<StoredConnection, 'tier' | 'ownerId'>,
): void {
  const isAgentOfOwner = principal.kind !== 'user' && connection.ownerId === principal.userId;
  if (!isAgentOfOwner && !mayWriteCredential(principal, connection))
    throw connectionForbiddenError(connection);
}

async function readAccessRequest(
  deps: Pick<Deps, 'apps' | 'describeTemplateOauth' | 'listServiceHosts'>,
  {
    signed,
    principal,
    body,
    tier,
  }: { signed: string; principal: Principal; body: CreateConnectionBody; tier: Tier },
  deadline: Deadline,
): Promise<AccessRequest> {
  const { orgId } = principal;
  const { provider = '', template: key, scopes, scheme } = body;
  if (key === undefined) {
    return {
      provider,
      actsAs: null,
      template: null,
      scopes: scopes ?? [],
      hosts: [],
      address: null,
    };
  }
  const template = await deps.describeTemplateOauth(
    { principal: signed, key, isForOrg: tier === 'org', ...(scheme && { scheme }) },
    deadline,
  );
  const ownDefinition = (await deps.apps.find({ orgId, provider: template.provider }))?.stored
    ?.definition;
  // The template of an MCP server contains the key of its provider and no URLs.
  const namesNoUrls = template.authorizationUrl === '' && template.tokenUrl === '';
  const hasSameUrls =
    ownDefinition === null || ownDefinition === undefined
      ? hasProviderUrls(template.provider, template)
      : ownDefinition.authorization_url === template.authorizationUrl &&
        ownDefinition.token_url === template.tokenUrl;
  if (!namesNoUrls && !hasSameUrls) {
    throw new AppError(
      'conflict',
      `The template "${key}" names other addresses for the provider "${template.provider}" than the gateway knows; it cannot be connected.`,
      { details: { reason: 'provider_url_mismatch' } },
    );
  }
  const hosts = parseHosts(template.hosts);
  const requestedTemplate = {
    template: template.template,
    baseUrl: null,
    hosts,
    ...(template.scheme !== undefined && { scheme: template.scheme }),
  };
  const { account = null } = await checkHostsAreKnown(deps, principal, requestedTemplate, deadline);
  return {
    provider: template.provider,
    actsAs: template.actsAs ?? null,
    template: template.template.key,
    scopes: scopes ?? template.scopes,
    hosts,
    address: account,
  };
}

/**
 * Finds the owner's connection by name, or inserts a new one. Two concurrent requests get the same
 * connection.
 */
async function findOrInsertConnection(
  tx: Transaction,
  {
    principal: { orgId, userId },
    access: { provider, actsAs, template },
    tier,
    name,
  }: { principal: Principal; access: AccessRequest; tier: Tier; name: string },
): Promise<StoredConnection> {
  const ownerId = tier === 'user' ? userId : null;
  const fields = { orgId, name, provider, actsAs, template, ownerId, createdBy: userId };
  const insertedConnection = await insertConnection(tx, { id: uuidv7(), ...fields });
  if (insertedConnection !== undefined) {
    if ((await countPendingConnections(tx, { orgId, createdBy: userId })) > pendingConnectionsMax) {
      throw new AppError(
        'conflict',
        `${pendingConnectionsMax} connections wait to be completed; complete or delete some of them first.`,
      );
    }
    return insertedConnection;
  }
  const existingConnection = (
    await listConnectionsByName(tx, { orgId, userId, names: [name] })
  ).find((each) => each.tier === tier);
  if (existingConnection?.provider === provider && isSameKind(existingConnection.actsAs, actsAs)) {
    return existingConnection;
  }
  throw new AppError(
    'conflict',
    `There is a connection "${name}" to another provider, or as somebody else; give this one another name.`,
  );
}
