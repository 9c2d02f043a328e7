import type { actionRoutes } from '#contracts/http/actions';
import type { CallResult } from '#contracts/call';
import { performCall } from '../calls/perform-call.ts';
import type { CallOutcome } from '../calls/incoming-call.ts';
import { limitsOfCall } from '../calls/call-limits.ts';
import type { Deps } from '../deps.ts';
import {
  parseCallBody,
  parseCallHeaders,
  parseConnectionCall,
  parseOptions,
  parseDryRun,
} from '../calls/domain/call-body.ts';
import type { ParsedCall, CallHeaders } from '../calls/domain/call-body.ts';
import { answer } from '../http/route-handler.ts';
import { nextAfterFailure, nextAfterSuspension, pollAfterMs } from '../next/domain/next-step.ts';
import type { HandlersOf, RouteAnswer, RouteInput } from '../http/route-handler.ts';

/** The answers of the two routes for calls, which are the same. */
type CallAnswer = RouteAnswer<(typeof actionRoutes)['callAction']>;
type CallInput = RouteInput<(typeof actionRoutes)['callAction' | 'callConnection']>;

export function actionHandlers(deps: Deps): HandlersOf<typeof actionRoutes> {
  return {
    callAction: (input) =>
      performRestCall(deps, input, (headers) =>
        parseCallBody(input.body, headers, limitsOfCall(deps, input.caller)),
      ),
    callConnection: (input) =>
      performRestCall(deps, input, (headers) =>
        parseConnectionCall(input.body, headers, deps.limits),
      ),

    validateAction: ({ caller, body, deadline }) =>
      answer(
        200,
        deps.policy.explain(
          {
            principal: caller.principal,
            call: parseDryRun(body, limitsOfCall(deps, caller)),
            options: parseOptions(body, { idempotencyKey: null }),
            asIdentityId: body.as_identity_id ?? null,
          },
          deadline,
        ),
      ),
  };
}

async function performRestCall(
  deps: Deps,
  input: CallInput,
  parse: (headers: CallHeaders) => ParsedCall,
): Promise<CallAnswer> {
  const { headers, authenticate, context } = input;
  const parsedHeaders = parseCallHeaders(headers);
  const outcome = await performCall(deps, {
    parse: () => parse(parsedHeaders),
    authenticate,
    waitMs: parsedHeaders.waitMs,
    // A function, so that the signal is created only for reads and waiting calls.
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
    case 'pending': {
      const next = nextAfterSuspension(outcome.envelope).request;
      return { status: 202, body: { ...outcome.envelope, poll_after_ms: pollAfterMs, next } };
    }
    case 'denied': {
      const { reason, approvalId } = outcome;
      const approvalField = approvalId === null ? {} : { approval_id: approvalId };
      return { status: 200, body: { status: 'denied', reason, ...approvalField } };
    }
    case 'called': {
      // A resumed call ignores `verbose` (docs/reference/approvals.md#resuming).
      const leavesOutHeaders = body.verbose === false && body.approval_id === undefined;
      return {
        status: 200,
        body: {
          status: 'called',
          result: withNext(
            outcome,
            leavesOutHeaders ? withoutHeaders(outcome.result) : outcome.result,
          ),
          action_description: outcome.description,
          audit_id: outcome.auditId,
        },
      };
    }
  }
}

/** Adds the next step to a failure. */
function withNext<Shown extends Partial<CallResult>>(
  { result: { failure }, service }: Extract<CallOutcome, { kind: 'called' }>,
  shown: Shown,
): Shown {
  const next = failure && nextAfterFailure(failure, service)?.request;
  return next ? { ...shown, failure: { ...failure, next } } : shown;
}

function withoutHeaders({ headers: _, ...result }: CallResult): Omit<CallResult, 'headers'> {
  return result;
}
