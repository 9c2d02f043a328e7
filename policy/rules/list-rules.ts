import type { Deadline } from '#bus';
import type { Rule } from '#contracts/http/rules';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { describeRules } from './describe-rules.ts';
import { listRulePage } from './rule.sql.ts';
import type { RuleFilter } from './rule.sql.ts';

interface ListRequest extends RuleFilter {
  readonly principal: string;
  readonly page: PageRequest;
}

/**
 * Lists the rules that the caller may see, newest first. Admins and auditors see all rules of the
 * org; other users see the rules of their own subtree and those on the org.
 */
export async function listRules(
  deps: Deps,
  { principal: signed, page, ...filter }: ListRequest,
  deadline: Deadline,
): Promise<Page<Rule>> {
  const caller = deps.readPrincipal(signed);
  if (caller.kind !== 'user') {
    throw new AppError(
      'forbidden',
      'Rules are for users to see. Validate a call to learn what it needs.',
    );
  }
  // Throws `not_found` for an identity that the caller may not see.
  const { identityId, effect, createdBy, approvalId, service, scope } = filter;
  if (identityId !== null)
    await deps.auth.getIdentity({ principal: signed, id: identityId }, deadline);
  const seesAll = caller.role === 'admin' || caller.role === 'auditor';
  const rules = await listRulePage(deps.db, {
    orgId: caller.orgId,
    ownerId: seesAll ? null : caller.userId,
    identityId,
    effect,
    createdBy,
    approvalId,
    service,
    scope,
    beforeId: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  const { items, next_cursor } = pageOf(rules, page.limit, ({ id }) => [id]);
  return {
    items: await describeRules(deps, { rules: items, viewer: caller }, deadline),
    next_cursor,
  };
}
