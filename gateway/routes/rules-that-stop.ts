import type { Deadline } from '#bus';
import type { Rule } from '#contracts/http/rules';
import type { upgradedService } from '#contracts/http/services';
import type { z } from 'zod';
import type { Deps } from '../deps.ts';

const pageSize = 200;
/** The most pages of rules on one service that are read, beginning with the newest rules. */
const pagesMax = 5;
const stoppedRulesMax = 100;

/**
 * Finds the rules on a service that no longer match any call after an upgrade: the new version does
 * not have the action, or forms its permission keys from other parameters. Rules on every argument
 * of an action (`*`) keep matching, with one exception: exact rules that were remembered while the
 * action had a single key. This key now belongs only to calls without an argument. Returns at most
 * `stoppedRulesMax` rules, or undefined if the rules cannot be read.
 */
export async function findRulesThatStop(
  { policy }: Pick<Deps, 'policy'>,
  { service, difference }: z.output<typeof upgradedService>,
  { principal, deadline }: { principal: string; deadline: Deadline },
): Promise<Rule[] | undefined> {
  const removedActions = new Set(difference.actions.removed);
  const reshapedActions = new Set(
    difference.actions.changed.flatMap(({ action, scope }) => (scope === undefined ? [] : action)),
  );
  if (removedActions.size === 0 && reshapedActions.size === 0) return [];
  const actionsWithOneKey = new Set(
    difference.actions.changed.flatMap(({ action, scope }) =>
      scope?.from.length === 0 ? action : [],
    ),
  );
  const stopsMatching = ({ pattern, exact }: Rule): boolean => {
    const [, action = '', ...argument] = pattern.split(':');
    if (removedActions.has(action)) return true;
    // A pattern for several actions counts as stopped if any action changed the form of its keys:
    // the argument in the pattern was written for one of these keys.
    const isReshaped = action.includes('*')
      ? reshapedActions.size > 0
      : reshapedActions.has(action);
    const coversAllArguments = ['*', '**'].includes(argument.join(':'));
    return isReshaped && (!coversAllArguments || (exact && actionsWithOneKey.has(action)));
  };
  const serviceReference = service.tier === 'org' ? `org/${service.name}` : service.name;
  try {
    const stoppedRules: Rule[] = [];
    let cursor: string | null = null;
    for (let count = 0; count < pagesMax && stoppedRules.length < stoppedRulesMax; count += 1) {
      const filter = { identityId: null, effect: null, createdBy: null, approvalId: null };
      const page = { limit: pageSize, cursor };
      // oxlint-disable-next-line no-await-in-loop -- each page names the next
      const { items, next_cursor } = await policy.listRules(
        { principal, ...filter, service: serviceReference, scope: null, page },
        deadline,
      );
      stoppedRules.push(...items.filter(stopsMatching));
      cursor = next_cursor;
      if (cursor === null) break;
    }
    return stoppedRules.slice(0, stoppedRulesMax);
  } catch {
    // The upgrade may already be done, and its answer must not be lost.
    return undefined;
  }
}
