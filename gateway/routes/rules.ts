import type { ruleRoutes } from '#contracts/http/rules';
import type { Deps } from '../deps.ts';
import { answer, answerNoContent, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function ruleHandlers({ policy }: Deps): HandlersOf<typeof ruleRoutes> {
  return {
    listRules: ({ caller: { principal }, query, deadline }) =>
      answer(
        200,
        policy.listRules(
          {
            principal,
            identityId: query.identity_id ?? null,
            effect: query.effect ?? null,
            createdBy: query.created_by ?? null,
            approvalId: query.approval_id ?? null,
            service: query.service ?? null,
            scope: query.scope ?? null,
            page: pageRequestOf(query),
          },
          deadline,
        ),
      ),
    createRule: ({ caller: { principal }, body, context, deadline }) =>
      answer(201, policy.createRule({ principal, body, context }, deadline)),
    deleteRule: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answerNoContent(policy.deleteRule({ principal, id, context }, deadline)),
  };
}
