import { credentialPlaces, findCollision } from '#contracts/credential-place';
import type { CredentialPlace } from '#contracts/credential-place';
import type { AuthMethod } from '#contracts/template';
import { tokenHeaderOf } from '#providers';
import { isReservedHeader } from './headers.ts';

/**
 * Why a template's credential may not have this name in this place of a request; undefined when it
 * may. Reserved headers are refused, except `Authorization`.
 */
export function refusalOfCredentialName(
  location: CredentialPlace,
  name: string,
): string | undefined {
  const nameRefusal = credentialPlaces[location].refusalOfName(name);
  if (nameRefusal !== undefined || location !== 'header' || /^authorization$/i.test(name))
    return nameRefusal;
  return isReservedHeader(name) ? 'is a header that only the gateway sets' : undefined;
}

/**
 * Finds, among auth methods that one call needs together, the first whose credential would replace
 * the credential of another, and the place in the request where both would go.
 */
export function findCollidingMethod(
  methods: readonly AuthMethod[],
): { readonly scheme: string; readonly target: string } | undefined {
  const credentialTargets = methods.map((method) =>
    method.type === 'apiKey'
      ? { scheme: method.scheme, in: method.in, key: method.name }
      : { scheme: method.scheme, in: 'header' as const, key: tokenHeaderOf(method.provider).name },
  );
  const collision = findCollision(credentialTargets);
  if (collision === undefined) return undefined;
  const { scheme, in: location, key } = collision;
  return { scheme, target: `${credentialPlaces[location].displayName} "${key}"` };
}
