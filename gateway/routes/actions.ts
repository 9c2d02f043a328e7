import type { actionRoutes } from '#contracts/http/actions';
import type { CallBody } from '#contracts/http/actions';
import type { CallResult } from '#contracts/call';
import { performCall } from '../call.ts';
import type { CallOutcome } from '../call.ts';
import type { Deps } from '../deps.ts';
import { parseCall, parseCallBody, parseCallHeaders, parseOptions } from '../domain/call-body.ts';
import { answer } from '../route.ts';
import type { HandlersOf, RouteAnswer } from '../route.ts';

export function actionHandlers(deps: Deps): HandlersOf<typeof actionRoutes> {
  return {
    async callAction(input) {
      const { body, headers, authenticate, context } = input;
      const asked = parseCallHeaders(headers);
      const outcome = await performCall(deps, {
        parse: () => parseCallBody(body, asked),
        authenticate,
        waitMs: asked.waitMs,
        // Only a call that waits asks for it.
        signal: () => input.signal,
        context,
      });
      return presentOutcome(outcome, body);
    },

    validateAction: ({ caller: { principal }, body, deadline }) =>
      answer(
        200,
        deps.policy.explain(
          {
            principal,
            call: parseCall(body),
            options: parseOptions(body, { idempotencyKey: null }),
            asIdentityId: body.as_identity_id ?? null,
          },
          deadline,
        ),
      ),
  };
}

function presentOutcome(
  outcome: CallOutcome,
  body: CallBody,
): RouteAnswer<(typeof actionRoutes)['callAction']> {
  switch (outcome.kind) {
    case 'pending':
      return { status: 202, body: outcome.envelope };
    case 'denied': {
      const { reason, approvalId } = outcome;
      const named = approvalId === null ? {} : { approval_id: approvalId };
      return { status: 200, body: { status: 'denied', reason, ...named } };
    }
    case 'called': {
      // `verbose` is ignored on replays of an approval (spec: MCP tools).
      const isCompact = body.verbose === false && body.approval_id === undefined;
      return {
        status: 200,
        body: {
          status: 'called',
          result: isCompact ? withoutHeaders(outcome.result) : outcome.result,
          action_description: outcome.description,
          audit_id: outcome.auditId,
        },
      };
    }
  }
}

function withoutHeaders({ headers: _, ...result }: CallResult): Omit<CallResult, 'headers'> {
  return result;
}
