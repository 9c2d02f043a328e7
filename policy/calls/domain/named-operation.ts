import type { HttpCall } from '#contracts/call';
import type { Injection } from '#contracts/permit';
import type { ReadQuery } from '../../denials/domain/sent-query.ts';

const operationParam = 'action';

/**
 * Whether a parameter may name the operation that the call runs: services of AWS with a query API
 * (IAM, EC2, SQS and others) run `Action=DeleteUser` by GET as by POST.
 */
export function mayNameOperation(
  { headers }: Pick<HttpCall, 'headers'>,
  {
    injections,
    query: { query, otherQuery = {} },
  }: { injections: readonly Pick<Injection, 'derivation'>[]; query: ReadQuery },
): boolean {
  if (!injections.some(({ derivation }) => derivation?.kind === 'aws_sigv4')) return false;
  const isForm = Object.entries(headers).some(
    ([header, value]) => header.toLowerCase() === 'content-type' && /form-urlencoded/i.test(value),
  );
  const names = [query, otherQuery].flatMap((each) => Object.keys(each));
  return isForm || names.some((each) => each.toLowerCase() === operationParam);
}
