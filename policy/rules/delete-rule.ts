import type { Deadline } from '#bus';
import type { CallContext, ChainLink } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { actorOf, ruleEvent } from './domain/rule-events.ts';
import { deleteLiveRule, findRule } from './rule.sql.ts';

/**
 * Deletes a rule. Only admins may delete the org's rules, and rules that an admin made on the
 * subtree of another user.
 */
export async function deleteRule(
  deps: Deps,
  {
    principal: signed,
    id,
    context,
  }: { principal: string; id: string; context?: CallContext | undefined },
  deadline: Deadline,
): Promise<Record<string, never>> {
  const caller = deps.readPrincipal(signed);
  if (caller.kind !== 'user' || caller.role === 'auditor') {
    throw new AppError('forbidden', 'Only users who may change things delete rules.');
  }
  const storedRule = await findRule(deps.db, { orgId: caller.orgId, id });
  const isAdmin = caller.role === 'admin';
  const isVisible =
    isAdmin || storedRule?.ownerId === null || storedRule?.ownerId === caller.userId;
  if (storedRule === undefined || !isVisible) throw ruleNotFoundError();
  const { ownerId, madeByAdmin, ...rule } = storedRule;
  if (!isAdmin && (ownerId === null || madeByAdmin)) {
    throw new AppError('forbidden', 'An admin made this rule, so only an admin deletes it.');
  }
  const chain = await findRuleChain(
    deps,
    { orgId: caller.orgId, identityId: rule.identity_id },
    deadline,
  );

  await deps.db.transaction(async (tx) => {
    if (!(await deleteLiveRule(tx, { orgId: caller.orgId, id }))) throw ruleNotFoundError();
    const actor = actorOf(caller, context);
    await appendEvent(tx, ruleEvent('rule.deleted', rule, { actor, chain }));
  });
  deps.lookups.drop('rules');
  deps.logger.info({ ruleId: id }, 'rule deleted');
  return {};
}

async function findRuleChain(
  { auth }: Deps,
  { orgId, identityId }: { orgId: string; identityId: string | null },
  deadline: Deadline,
): Promise<readonly ChainLink[]> {
  if (identityId === null) return [];
  return (await auth.getChain({ orgId, identityId }, deadline)).chain;
}

function ruleNotFoundError(): AppError {
  return new AppError('not_found', 'There is no such rule.');
}
