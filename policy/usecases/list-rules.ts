import type { Deadline } from '#bus';
import type { Rule } from '#contracts/http/rules';
import { cursorOf, parseCursor } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { listRulePage } from '../repository/rules.ts';
import type { RuleFilter } from '../repository/rules.ts';

interface ListRequest extends RuleFilter {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
}

/** Rules the caller may see, newest first: admins and auditors the org's, others their subtree's and the org-wide ones. */
export async function listRules(
  deps: Deps,
  { principal: signed, page, ...filter }: ListRequest,
  deadline: Deadline,
): Promise<{ items: Rule[]; next_cursor: string | null }> {
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
  const items = await listRulePage(deps.db, {
    orgId: caller.orgId,
    ownerId: seesAll ? null : caller.userId,
    ...{ identityId, effect, createdBy, approvalId },
    beforeId: page.cursor === null ? null : parseBefore(page.cursor),
    limit: page.limit + 1,
  });
  const hasMore = items.length > page.limit;
  const shown = items.slice(0, page.limit);
  return { items: shown, next_cursor: hasMore ? cursorOf([shown.at(-1)?.id ?? '']) : null };
}

function parseBefore(cursor: string): string {
  const [id = ''] = parseCursor(cursor, 1);
  if (/^[0-9a-f-]{36}$/.test(id)) return id;
  throw new AppError(
    'invalid_request',
    'The cursor is not one we handed out; start again without a cursor.',
  );
}
