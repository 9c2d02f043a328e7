import { AppError } from '#errors';
import { appendEvent } from '#events';
import { connectionEvent } from '../connections/event.ts';
import type { Deps } from '../deps.ts';
import { mayWriteSecret, parseHosts, parseReference } from '../domain/secret-rules.ts';
import { addConnectionHosts, listConnectionsByName } from '../repository/connection.ts';

/** Lets a connection's token go to the hosts of a service that is being connected, when its caller may write the connection. */
export async function allowConnectionHosts(
  { db, verifyPrincipal }: Pick<Deps, 'db' | 'verifyPrincipal'>,
  {
    principal: signed,
    reference,
    hosts,
  }: { principal: string; reference: string; hosts: string[] },
): Promise<Record<string, never>> {
  const principal = verifyPrincipal(signed);
  const { orgId, userId } = principal;
  const { name, orgOnly } = parseReference(reference);
  const wanted = parseHosts(hosts);
  await db.transaction(async (tx) => {
    const found = await listConnectionsByName(tx, { orgId, userId, names: [name] });
    const own = orgOnly ? undefined : found.find(({ tier }) => tier === 'user');
    const connection = own ?? found.find(({ tier }) => tier === 'org');
    if (connection === undefined) {
      throw new AppError('credential_missing', `Make the connection "${reference}" first.`, {
        details: { connection: reference },
      });
    }
    const missing = wanted.filter((host) => !connection.allowedHosts.includes(host));
    if (missing.length === 0) return;
    if (!mayWriteSecret(principal, connection)) {
      throw new AppError(
        'host_not_allowed',
        `The connection "${reference}" may not go to ${missing.join(', ')}, and only its owner can change that.`,
        { details: { connection: reference, hosts: missing } },
      );
    }
    await addConnectionHosts(tx, { orgId, id: connection.id, hosts: missing });
    const text = `Let connection ${name} go to ${missing.join(', ')}`;
    const by = { principal, context: null };
    await appendEvent(tx, connectionEvent('connection.changed', { connection, text, by }));
  });
  return {};
}
