import { v7 as uuidv7 } from 'uuid';

import type { AccountAddress } from '#contracts/account-value';
import type { Transaction } from '#database';
import { appendEvent } from '#events';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import type { StoredConnection } from './connection.sql.ts';
import { findAccountAddress, insertConnectionFlow } from './connection-flow.sql.ts';
import { countRequest } from '../limits/count-request.ts';
import { identityOf } from '../credentials/actor.ts';
import { createConnectionEvent } from './connection-event.ts';
import type { Actor } from '../credentials/actor.ts';

interface AccessToAskFor {
  readonly connection: StoredConnection;
  readonly access: {
    readonly scopes: readonly string[];
    readonly hosts: readonly string[];
    /**
     * How to look up the values to which the account has access; null when the request comes from
     * no template that does so.
     */
    readonly address: AccountAddress | null;
  };
  readonly by: Actor;
  /**
   * The limit of requests per org, for all callers of the org together; 0 when the request was
   * counted already.
   */
  readonly requestsPerHour: number;
}

/**
 * Creates a link on which the owner can grant access. The link requests the new scopes and those
 * that were granted before. Once a template of the connection looks up the values to which the
 * account has access, every later link does so too, until the connection is bound. So no link can
 * make the connection valid for all values.
 */
export async function askForAccess(
  tx: Transaction,
  { connection, access, by, requestsPerHour }: AccessToAskFor,
): Promise<string> {
  const id = uuidv7();
  const { orgId, id: connectionId, provider, grantedScopes, pin } = connection;
  await countRequest(tx, by.principal, requestsPerHour);
  const isToInherit = access.address === null && pin === null;
  const address = isToInherit
    ? await findAccountAddress(tx, { orgId, connectionId })
    : access.address;
  await insertConnectionFlow(tx, {
    id,
    orgId,
    connectionId,
    provider,
    scopes: [...new Set([...grantedScopes, ...access.scopes])],
    hosts: [...access.hosts],
    address,
    askedBy: identityOf(by.principal),
  });
  const text = `Asked for access to ${provider} as connection ${referenceOf(connection)}`;
  await appendEvent(tx, createConnectionEvent('connection.requested', { connection, text, by }));
  return id;
}
