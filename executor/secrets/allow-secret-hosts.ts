import type { Deadline } from '#bus';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { createSecretEvent } from './secret-event.ts';
import type { Deps } from '../deps.ts';
import {
  findReferenced,
  newHostsOf,
  parseHosts,
  parseReference,
} from '../credentials/domain/credential-rules.ts';
import { addSecretHosts, listSecretsByName } from './secret.sql.ts';
import { checkHostsAreKnown } from '../credentials/check-known-hosts.ts';
import type { AllowHostsFields } from '../credentials/check-known-hosts.ts';

/**
 * Allows a secret to go to the hosts of a service that is being connected. The caller must be
 * allowed to write the secret.
 */
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
  const hostsToAllow = parseHosts(hosts);
  await checkHostsAreKnown(
    { listServiceHosts },
    principal,
    { template, baseUrl, hosts: hostsToAllow },
    deadline,
  );
  const changedId = await db.transaction(async (tx) => {
    const secrets = await listSecretsByName(tx, { orgId, userId, names: [name] });
    const secret = findReferenced(secrets, reference);
    if (secret === undefined) {
      throw new AppError('credential_missing', `Store the secret "${reference}" first.`, {
        details: { secret: reference },
      });
    }
    const credential = { kind: 'secret', reference } as const;
    const missingHosts = newHostsOf(principal, secret, { hosts: hostsToAllow, name: credential });
    if (missingHosts.length === 0) return null;
    await addSecretHosts(tx, { orgId, id: secret.id, hosts: missingHosts });
    const text = `Let secret ${name} go to ${missingHosts.join(', ')}`;
    await appendEvent(
      tx,
      createSecretEvent('secret.changed', { principal, context: null, secret, text }),
    );
    return secret.id;
  });
  if (changedId !== null) vault.forget(changedId);
  return {};
}
