import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { appendEvent } from '#events';
import { referenceOf } from '../domain/credential-rules.ts';
import type { StoredConnection } from '../repository/connection.ts';
import { insertConnectionFlow } from '../repository/connection-flow.ts';
import { takeRequest } from '../requests/take-request.ts';
import { actorOf, connectionEvent } from './event.ts';
import type { Actor } from './event.ts';

interface Request {
  readonly connection: StoredConnection;
  readonly wish: { readonly scopes: readonly string[]; readonly hosts: readonly string[] };
  readonly by: Actor;
  /** Per org, across all its callers. */
  readonly requestsPerHour: number;
}

/** Makes a link on which the owner can go on. What was granted before is asked for again with it. */
export async function askForAccess(
  tx: Transaction,
  { connection, wish, by, requestsPerHour }: Request,
): Promise<string> {
  const id = uuidv7();
  const { orgId, id: connectionId, provider, grantedScopes } = connection;
  const { identity } = actorOf(by);
  if (identity === null) throw new Error('a principal without a chain');
  await takeRequest(tx, by.principal, requestsPerHour);
  await insertConnectionFlow(tx, {
    id,
    orgId,
    connectionId,
    provider,
    scopes: [...new Set([...grantedScopes, ...wish.scopes])],
    hosts: [...wish.hosts],
    askedBy: identity,
  });
  const text = `Asked for access to ${provider} as connection ${referenceOf(connection)}`;
  await appendEvent(tx, connectionEvent('connection.requested', { connection, text, by }));
  return id;
}
