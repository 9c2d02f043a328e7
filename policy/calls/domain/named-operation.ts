import type { HttpCall } from '#contracts/call';
import type { Injection } from '#contracts/permit';

const operationParam = 'action';

/**
 * Whether a parameter may name the operation that the call runs. AWS services with a query API
 * (IAM, EC2, SQS and others) run `Action=DeleteUser` both by GET and by POST.
 */
export function mayNameOperation(
  { headers, target, query }: Pick<HttpCall, 'headers' | 'target' | 'query'>,
  injections: readonly Pick<Injection, 'derivation'>[],
): boolean {
  if (!injections.some(({ derivation }) => derivation?.kind === 'aws_sigv4')) return false;
  const isForm = Object.entries(headers).some(
    ([header, value]) => header.toLowerCase() === 'content-type' && /form-urlencoded/i.test(value),
  );
  const queryStart = target.indexOf('?');
  // Some servers accept `;` instead of `&`.
  const pairs = queryStart < 0 ? '' : target.slice(queryStart + 1).replaceAll(';', '&');
  const names = [...new URLSearchParams(pairs).keys(), ...Object.keys(query)];
  return isForm || names.some((each) => each.toLowerCase() === operationParam);
}
