import type { Deadline } from '#bus';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { secretEvent } from '../secrets/event.ts';
import type { Deps } from '../deps.ts';
import {
  findReferenced,
  newHostsOf,
  parseHosts,
  parseReference,
} from '../domain/credential-rules.ts';
import { addSecretHosts, listSecretsByName } from '../repository/secret.ts';
import { checkHostsAreKnown } from './known-hosts.ts';
import type { AllowHostsFields } from './known-hosts.ts';

/** Lets a secret go to the hosts of a service that is being connected, when its caller may write the secret. */
export async function allowSecretHosts(
  {
    db,
    vault,
    readPrincipal,
    listServiceHosts,
  }: Pick<Deps, 'db' | 'vault' | 'readPrincipal' | 'listServiceHosts'>,
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
  const changedId = await db.transaction(async (tx) => {
    const found = await listSecretsByName(tx, { orgId, userId, names: [name] });
    const secret = findReferenced(found, reference);
    if (secret === undefined) {
      throw new AppError('credential_missing', `Store the secret "${reference}" first.`, {
        details: { secret: reference },
      });
    }
    const called = { kind: 'secret', reference } as const;
    const missing = newHostsOf(principal, secret, { hosts: wanted, name: called });
    if (missing.length === 0) return null;
    await addSecretHosts(tx, { orgId, id: secret.id, hosts: missing });
    const text = `Let secret ${name} go to ${missing.join(', ')}`;
    await appendEvent(
      tx,
      secretEvent('secret.changed', { principal, context: null, secret, text }),
    );
    return secret.id;
  });
  if (changedId !== null) vault.forget(changedId);
  return {};
}
