import type { Deadline } from '#bus';
import type { AccountAddress, AccountPin } from '#contracts/account-value';
import type { Principal } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { placesFor, withAddress } from '../account-values/bind-account.ts';
import { createConnectionEvent } from './connection-event.ts';
import type { Deps } from '../deps.ts';
import {
  findReferenced,
  mayWriteCredential,
  newHostsOf,
  parseHosts,
  parseReference,
  referenceOf,
} from '../credentials/domain/credential-rules.ts';
import { addConnectionHosts, listConnectionsByName, updateAccountPin } from './connection.sql.ts';
import type { StoredConnection } from './connection.sql.ts';
import { lockTokens } from './connection-tokens.sql.ts';
import { checkHostsAreKnown } from '../credentials/check-known-hosts.ts';
import type { AllowHostsFields } from '../credentials/check-known-hosts.ts';

/**
 * Allows a connection's token to go to the hosts of a service that is being connected. The caller
 * must be allowed to write the connection.
 */
export async function allowConnectionHosts(
  { db, readPrincipal, listServiceHosts }: Pick<Deps, 'db' | 'readPrincipal' | 'listServiceHosts'>,
  { principal: signed, reference, hosts, template, baseUrl }: AllowHostsFields,
  deadline: Deadline,
): Promise<Record<string, never>> {
  const principal = readPrincipal(signed);
  const { orgId, userId } = principal;
  const { name } = parseReference(reference);
  const hostsToAllow = parseHosts(hosts);
  const { account = null } = await checkHostsAreKnown(
    { listServiceHosts },
    principal,
    { template, baseUrl, hosts: hostsToAllow },
    deadline,
  );
  await db.transaction(async (tx) => {
    const connections = await listConnectionsByName(tx, { orgId, userId, names: [name] });
    const connection = findReferenced(connections, reference);
    if (connection === undefined) {
      throw new AppError('credential_missing', `Make the connection "${reference}" first.`, {
        details: { connection: reference },
      });
    }
    const credential = { kind: 'connection', reference } as const;
    const missingHosts = newHostsOf(principal, connection, {
      hosts: hostsToAllow,
      name: credential,
    });
    const newPlaces = await allowPlaces(tx, principal, { connection, baseUrl, address: account });
    if (missingHosts.length === 0 && newPlaces.length === 0) return;
    if (missingHosts.length > 0) {
      await addConnectionHosts(tx, { orgId, id: connection.id, hosts: missingHosts });
    }
    const allowed = newPlaces.length > 0 ? newPlaces : missingHosts;
    const text = `Let connection ${name} go to ${allowed.join(', ')}`;
    const by = { principal, context: null };
    await appendEvent(tx, createConnectionEvent('connection.changed', { connection, text, by }));
  });
  return {};
}

/**
 * Lets the token go to the base URL of the service, if that URL is for the value to which the
 * connection is bound, and to the servers of single actions. Returns the base URLs that were added.
 * The executor checks them against the template that policy has recorded, because a compromised
 * registry could send another base URL.
 */
async function allowPlaces(
  tx: Transaction,
  principal: Principal,
  {
    connection,
    baseUrl,
    address,
  }: { connection: StoredConnection; baseUrl: string; address: AccountAddress | null },
): Promise<readonly string[]> {
  const { orgId, id } = connection;
  if (connection.pin === null) return [];
  const neededUrls = placesFor(address, baseUrl);
  const listMissing = (from: AccountPin) =>
    neededUrls.filter((url) => !from.baseUrls.includes(url));
  if (listMissing(connection.pin).length === 0) return [];
  // Another service may have been connected meanwhile, so the base URLs are read again under a lock
  // and added to.
  const pin = (await lockTokens(tx, { orgId, id }))?.pin ?? connection.pin;
  const missingUrls = listMissing(pin);
  if (missingUrls.length === 0) return [];
  const widened = withAddress(pin, address);
  const refused = listMissing(widened);
  const isAllowed = refused.length === 0 && mayWriteCredential(principal, connection);
  if (isAllowed && (await updateAccountPin(tx, { orgId, id, pin: widened }))) return missingUrls;
  const reference = referenceOf(connection);
  throw new AppError(
    'host_not_allowed',
    `The connection "${reference}" opens ${pin.label} only, and does not go to ${(refused.length === 0 ? missingUrls : refused).join(', ')}. Make another connection for it.`,
    { details: { connection: reference, account_value: pin.value } },
  );
}
