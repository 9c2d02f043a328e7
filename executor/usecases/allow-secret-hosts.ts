import { secretHostsMax } from '#contracts/http/secrets';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { secretEvent } from '../secrets/event.ts';
import type { Deps } from '../deps.ts';
import { mayWriteSecret, parseHosts, parseReference } from '../domain/secret-rules.ts';
import { addSecretHosts, listSecretsByName } from '../repository/secret.ts';

/** Lets a secret go to the hosts of a service that is being connected, when its caller may write the secret. */
export async function allowSecretHosts(
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
    const found = await listSecretsByName(tx, { orgId, userId, names: [name] });
    const own = orgOnly ? undefined : found.find(({ tier }) => tier === 'user');
    const secret = own ?? found.find(({ tier }) => tier === 'org');
    if (secret === undefined) {
      throw new AppError('credential_missing', `Store the secret "${reference}" first.`, {
        details: { secret: reference },
      });
    }
    const missing = wanted.filter((host) => !secret.allowedHosts.includes(host));
    if (missing.length === 0) return;
    if (!mayWriteSecret(principal, secret)) {
      throw new AppError(
        'host_not_allowed',
        `The secret "${reference}" may not go to ${missing.join(', ')}, and only its owner can change that.`,
        { details: { secret: reference, hosts: missing } },
      );
    }
    if (secret.allowedHosts.length + missing.length > secretHostsMax) {
      throw new AppError(
        'host_not_allowed',
        `The secret "${reference}" goes to as many hosts as one may (${secretHostsMax}); take some away, or use another.`,
        { details: { secret: reference, hosts: missing } },
      );
    }
    await addSecretHosts(tx, { orgId, id: secret.id, hosts: missing });
    const text = `Let secret ${name} go to ${missing.join(', ')}`;
    await appendEvent(
      tx,
      secretEvent('secret.changed', { principal, context: null, secret, text }),
    );
  });
  return {};
}
