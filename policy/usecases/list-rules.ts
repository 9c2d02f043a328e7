import type { Deadline } from '#bus';
import type { Rule } from '#contracts/http/rules';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { listRulePage } from '../repository/rules.ts';
import type { RuleFilter } from '../repository/rules.ts';

interface ListRequest extends RuleFilter {
  readonly principal: string;
  readonly page: PageRequest;
}

/** Rules the caller may see, newest first: admins and auditors the org's, others their subtree's and the org-wide ones. */
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
  const { identityId, effect, createdBy, approvalId } = filter;
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
    beforeId: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  return pageOf(rules, page.limit, ({ id }) => [id]);
}
