import { v7 as uuidv7 } from 'uuid';

import type { Deadline } from '#bus';
import type { Connection, CreateConnectionBody } from '#contracts/http/connections';
import type { CallContext, Principal, Tier } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { hasProviderUrls } from '#providers';
import { askForAccess } from '../connections/ask.ts';
import { getVisibleConnection, notYours, presentConnection } from '../connections/present.ts';
import { requireApp } from '../connections/provider-apps.ts';
import type { Deps } from '../deps.ts';
import { mayWriteCredential, parseHosts } from '../domain/credential-rules.ts';
import {
  countPendingConnections,
  insertConnection,
  listConnectionsByName,
} from '../repository/connection.ts';
import type { StoredConnection } from '../repository/connection.ts';
import { checkHostsAreKnown } from './known-hosts.ts';

/** What is wanted of a provider, from whatever the body named. */
interface Wish {
  readonly provider: string;
  readonly template: string | null;
  readonly scopes: readonly string[];
  readonly hosts: readonly string[];
}

const pendingMax = 20;

/**
 * Asks for access: for a new connection, or for more, or anew, for one that is there. Nothing is
 * connected and nothing changes until the owner has gone to the provider and come back, so an
 * agent may ask too, for the user it belongs to.
 */
export async function createConnection(
  deps: Deps,
  {
    principal: signed,
    body,
    context,
  }: { principal: string; body: CreateConnectionBody; context: CallContext },
  deadline: Deadline,
): Promise<Connection & { authorization_url: string }> {
  const { requestsPerHour } = deps;
  const principal = deps.readPrincipal(signed);
  const { orgId } = principal;
  const known =
    body.connection === undefined
      ? undefined
      : await getVisibleConnection(deps.db, principal, body.connection);
  if (known?.status === 'revoked') {
    throw new AppError('conflict', 'This connection was revoked; make a new one.');
  }
  const tier = known?.tier ?? body.tier ?? 'user';
  checkMayAsk(principal, known ?? { tier, ownerId: tier === 'user' ? principal.userId : null });
  const wish =
    known === undefined
      ? await readWish(deps, { signed, principal, body, tier }, deadline)
      : {
          provider: known.provider,
          template: known.template,
          scopes: body.scopes ?? [],
          hosts: [],
        };
  requireApp(await deps.apps.find({ orgId, provider: wish.provider }), wish.provider);

  const { connection, flowId } = await deps.db.transaction(async (tx) => {
    const target =
      known ??
      (await findOrInsert(tx, { principal, wish, tier, name: body.name ?? wish.provider }));
    const by = { principal, context };
    return {
      connection: target,
      flowId: await askForAccess(tx, { connection: target, wish, by, requestsPerHour }),
    };
  });
  return { ...presentConnection(connection), authorization_url: deps.flowUrlOf(flowId) };
}

/** Who may complete it, and agents of the user that may. */
function checkMayAsk(
  principal: Principal,
  connection: Pick<StoredConnection, 'tier' | 'ownerId'>,
): void {
  const isAgentOfOwner = principal.kind !== 'user' && connection.ownerId === principal.userId;
  if (!isAgentOfOwner && !mayWriteCredential(principal, connection)) throw notYours(connection);
}

async function readWish(
  deps: Pick<Deps, 'apps' | 'describeTemplateOauth' | 'listServiceHosts'>,
  {
    signed,
    principal,
    body,
    tier,
  }: { signed: string; principal: Principal; body: CreateConnectionBody; tier: Tier },
  deadline: Deadline,
): Promise<Wish> {
  const { orgId } = principal;
  const { provider, template: key, scopes } = body;
  if (key === undefined) {
    return { provider: provider ?? '', template: null, scopes: scopes ?? [], hosts: [] };
  }
  const template = await deps.describeTemplateOauth(
    { principal: signed, key, isForOrg: tier === 'org' },
    deadline,
  );
  const own = (await deps.apps.find({ orgId, provider: template.provider }))?.stored?.definition;
  // An MCP server's template names its provider alone.
  const namesNone = template.authorizationUrl === '' && template.tokenUrl === '';
  const isSame =
    own === null || own === undefined
      ? hasProviderUrls(template.provider, template)
      : own.authorization_url === template.authorizationUrl && own.token_url === template.tokenUrl;
  if (!namesNone && !isSame) {
    throw new AppError(
      'conflict',
      `The template "${key}" names other addresses for the provider "${template.provider}" than the gateway knows; it cannot be connected.`,
      { details: { reason: 'provider_url_mismatch' } },
    );
  }
  const hosts = parseHosts(template.hosts);
  const asked = { template: template.template, baseUrl: null, hosts };
  await checkHostsAreKnown(deps, principal, asked, deadline);
  return {
    provider: template.provider,
    template: key,
    scopes: scopes ?? template.scopes,
    hosts,
  };
}

/** The owner's connection of this name, or a new one. Two who ask at once get the same. */
async function findOrInsert(
  tx: Transaction,
  {
    principal: { orgId, userId },
    wish: { provider, template },
    tier,
    name,
  }: { principal: Principal; wish: Wish; tier: Tier; name: string },
): Promise<StoredConnection> {
  const ownerId = tier === 'user' ? userId : null;
  const fields = { orgId, name, provider, template, ownerId, createdBy: userId };
  const inserted = await insertConnection(tx, { id: uuidv7(), ...fields });
  if (inserted !== undefined) {
    if ((await countPendingConnections(tx, { orgId, createdBy: userId })) > pendingMax) {
      throw new AppError(
        'conflict',
        `${pendingMax} connections wait to be completed; complete or delete some of them first.`,
      );
    }
    return inserted;
  }
  const found = (await listConnectionsByName(tx, { orgId, userId, names: [name] })).find(
    (each) => each.tier === tier,
  );
  if (found?.provider === provider) return found;
  throw new AppError(
    'conflict',
    `There is a connection "${name}" to another provider; give this one another name.`,
  );
}
