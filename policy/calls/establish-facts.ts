import type { Call, CallOptions } from '#contracts/call';
import { platformKey } from '#contracts/platform';
import { AppError } from '#errors';
import { isAtLeast } from '../denials/domain/risks.ts';
import type { Lookups, Owner } from '../deps.ts';
import { establishActionFacts } from './action-facts.ts';
import type { CallFacts } from './call-facts.ts';
import { establishHttpFacts } from './http-facts.ts';

/**
 * Runs the checks that come before the permission walk, so that no person is asked to allow a call
 * that cannot work (docs/reference/permissions.md#checks-before-the-walk).
 */
export async function establishFacts(
  lookups: Lookups,
  owner: Owner & { readonly identityId: string },
  { call, options }: { call: Call; options: CallOptions },
): Promise<CallFacts> {
  if (call.kind === 'action' && call.service === 'http') {
    throw new AppError(
      'unknown_action',
      'Raw HTTP has no actions. Send method and path instead of action and params.',
    );
  }
  if (call.kind === 'http' && call.service === platformKey) {
    throw new AppError(
      'invalid_params',
      'The platform is called by action and params, not by method and path.',
      { details: { issues: [{ path: 'method', message: 'does not go with this service' }] } },
    );
  }
  const facts =
    call.kind === 'action'
      ? await establishActionFacts(lookups, owner, call)
      : await establishHttpFacts(lookups, owner, call);
  const { maxRisk } = options;
  if (maxRisk !== null && facts.risk !== maxRisk && isAtLeast(facts.risk, maxRisk)) {
    throw new AppError(
      'risk_exceeded',
      `This call is a ${facts.risk}, and the request limits it to ${maxRisk}. Raise max_risk if you mean it.`,
      { details: { risk: facts.risk, max_risk: maxRisk } },
    );
  }
  return facts;
}
