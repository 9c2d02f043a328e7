import { AppError } from '#errors';
import { appendEvent } from '#events';
import { connectionEvent } from '../connections/event.ts';
import type { Deps } from '../deps.ts';
import {
  findReferenced,
  newHostsOf,
  parseHosts,
  parseReference,
} from '../domain/credential-rules.ts';
import { addConnectionHosts, listConnectionsByName } from '../repository/connection.ts';

/** Lets a connection's token go to the hosts of a service that is being connected, when its caller may write the connection. */
export async function allowConnectionHosts(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  {
    principal: signed,
    reference,
    hosts,
  }: { principal: string; reference: string; hosts: string[] },
): Promise<Record<string, never>> {
  const principal = readPrincipal(signed);
  const { orgId, userId } = principal;
  const { name } = parseReference(reference);
  const wanted = parseHosts(hosts);
  await db.transaction(async (tx) => {
    const found = await listConnectionsByName(tx, { orgId, userId, names: [name] });
    const connection = findReferenced(found, reference);
    if (connection === undefined) {
      throw new AppError('credential_missing', `Make the connection "${reference}" first.`, {
        details: { connection: reference },
      });
    }
    const called = { kind: 'connection', reference } as const;
    const missing = newHostsOf(principal, connection, { hosts: wanted, name: called });
    if (missing.length === 0) return;
    await addConnectionHosts(tx, { orgId, id: connection.id, hosts: missing });
    const text = `Let connection ${name} go to ${missing.join(', ')}`;
    const by = { principal, context: null };
    await appendEvent(tx, connectionEvent('connection.changed', { connection, text, by }));
  });
  return {};
}
