import type { Deadline } from '#bus';
import type { CallContext, ChainLink } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { actorOf, ruleEvent } from '../domain/rule-events.ts';
import { deleteLiveRule, findRule } from '../repository/rules.ts';

/** Takes a rule away. What an admin made on somebody's subtree, and the org's rules, only admins do. */
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
  const found = await findRule(deps.db, { orgId: caller.orgId, id });
  const isAdmin = caller.role === 'admin';
  const isVisible = isAdmin || found?.ownerId === null || found?.ownerId === caller.userId;
  if (found === undefined || !isVisible) throw notFound();
  const { ownerId, madeByAdmin, ...rule } = found;
  if (!isAdmin && (ownerId === null || madeByAdmin)) {
    throw new AppError('forbidden', 'An admin made this rule, so only an admin deletes it.');
  }
  const chain = await findChain(
    deps,
    { orgId: caller.orgId, identityId: rule.identity_id },
    deadline,
  );

  await deps.db.transaction(async (tx) => {
    if (!(await deleteLiveRule(tx, { orgId: caller.orgId, id }))) throw notFound();
    const actor = actorOf(caller, context);
    await appendEvent(tx, ruleEvent('rule.deleted', rule, { actor, chain }));
  });
  deps.lookups.drop('rules');
  deps.logger.info({ ruleId: id }, 'rule deleted');
  return {};
}

async function findChain(
  { auth }: Deps,
  { orgId, identityId }: { orgId: string; identityId: string | null },
  deadline: Deadline,
): Promise<readonly ChainLink[]> {
  if (identityId === null) return [];
  return (await auth.getChain({ orgId, identityId }, deadline)).chain;
}

function notFound(): AppError {
  return new AppError('not_found', 'There is no such rule.');
}
