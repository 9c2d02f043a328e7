import type { Deadline } from '#bus';
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
import { checkHostsAreKnown } from './known-hosts.ts';
import type { AllowHostsFields } from './known-hosts.ts';

/** Lets a connection's token go to the hosts of a service that is being connected, when its caller may write the connection. */
export async function allowConnectionHosts(
  { db, readPrincipal, listServiceHosts }: Pick<Deps, 'db' | 'readPrincipal' | 'listServiceHosts'>,
  { principal: signed, reference, hosts, template, baseUrl }: AllowHostsFields,
  deadline: Deadline,
): Promise<Record<string, never>> {
  const principal = readPrincipal(signed);
  const { orgId, userId } = principal;
  const { name } = parseReference(reference);
  const wanted = parseHosts(hosts);
  await checkHostsAreKnown(
    { listServiceHosts },
    principal,
    { template, baseUrl, hosts: wanted },
    deadline,
  );
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
