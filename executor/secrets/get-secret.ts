import type { Deadline } from '#bus';
import type { SecretDetail } from '#contracts/http/secrets';
import type { Deps } from '../deps.ts';
import { getVisibleSecret, noSuchSecretError } from './get-visible-secret.ts';
import { addSecretUses } from './secret-uses.ts';

export async function getSecret(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'findSecretUses'>,
  { principal: signed, id }: { principal: string; id: string },
  deadline: Deadline,
): Promise<SecretDetail> {
  const principal = deps.readPrincipal(signed);
  const secret = await getVisibleSecret(deps.db, principal, id);
  const [detail] = await addSecretUses(deps, { principal, secrets: [secret] }, deadline);
  if (detail === undefined) throw noSuchSecretError();
  return detail;
}
