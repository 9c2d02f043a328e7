import type { actionRoutes } from '#contracts/http/actions';
import type { CallResult } from '#contracts/call';
import { performCall } from '../call.ts';
import type { CallOutcome } from '../call.ts';
import { limitsOf } from '../call-limits.ts';
import type { Deps } from '../deps.ts';
import {
  parseCallBody,
  parseCallHeaders,
  parseConnectionCall,
  parseOptions,
  parseTriedCall,
} from '../domain/call-body.ts';
import type { AskedCall, CallHeaders } from '../domain/call-body.ts';
import { answer } from '../route.ts';
import type { HandlersOf, RouteAnswer, RouteInput } from '../route.ts';

/** Both ways of calling answer alike. */
type CallAnswer = RouteAnswer<(typeof actionRoutes)['callAction']>;
type CallInput = RouteInput<(typeof actionRoutes)['callAction' | 'callConnection']>;

export function actionHandlers(deps: Deps): HandlersOf<typeof actionRoutes> {
  return {
    callAction: (input) =>
      perform(deps, input, (headers) =>
        parseCallBody(input.body, headers, limitsOf(deps, input.caller, input.body.params)),
      ),
    callConnection: (input) =>
      perform(deps, input, (headers) => parseConnectionCall(input.body, headers, deps.limits)),

    validateAction: ({ caller, body, deadline }) =>
      answer(
        200,
        deps.policy.explain(
          {
            principal: caller.principal,
            call: parseTriedCall(body, limitsOf(deps, caller, body.params)),
            options: parseOptions(body, { idempotencyKey: null }),
            asIdentityId: body.as_identity_id ?? null,
          },
          deadline,
        ),
      ),
  };
}

async function perform(
  deps: Deps,
  input: CallInput,
  parse: (headers: CallHeaders) => AskedCall,
): Promise<CallAnswer> {
  const { headers, authenticate, context } = input;
  const asked = parseCallHeaders(headers);
  const outcome = await performCall(deps, {
    parse: () => parse(asked),
    authenticate,
    waitMs: asked.waitMs,
    // Only a read and a call that waits ask for it.
    signal: () => input.signal,
    context,
  });
  return presentOutcome(outcome, input.body);
}

function presentOutcome(
  outcome: CallOutcome,
  body: { readonly verbose?: boolean | undefined; readonly approval_id?: string | undefined },
): CallAnswer {
  switch (outcome.kind) {
    case 'pending':
      return { status: 202, body: outcome.envelope };
    case 'denied': {
      const { reason, approvalId } = outcome;
      const named = approvalId === null ? {} : { approval_id: approvalId };
      return { status: 200, body: { status: 'denied', reason, ...named } };
    }
    case 'called': {
      // `verbose` is ignored on replays of an approval (docs/reference/approvals.md#resuming).
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
