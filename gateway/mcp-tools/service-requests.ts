import type { z } from 'zod';

import { deadlineIn } from '#bus';
import { serviceRequestBody } from '#contracts/http/requests';
import type { ServiceRequest, ServiceRequestBody } from '#contracts/http/requests';
import type { AppError } from '#errors';
import { awaitRequest } from '../calls/await-request.ts';
import { invalidRequest } from '../input/domain/validate.ts';
import { nextAfterActionsLeftOut } from '../next/domain/next-step.ts';
import type { Structured, ToolCall } from './tool.ts';

const requestMsMax = 8_000;
/** The longest wait. No client times out earlier than after 60 seconds. */
export const waitSecondsMax = 60;

type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };
type RequestedService = Optional<Omit<ServiceRequestBody, 'kind'>>;
type StatusFields = Optional<{ service: string; request: string; wait: number }>;

/** Asks a person to connect a service. Answers at once, without waiting for the person. */
export async function requestService(
  { template, name, actions, reason, tier }: RequestedService,
  { deps, caller, context }: ToolCall,
): Promise<Structured> {
  if (template === undefined || reason === undefined) {
    const path = template === undefined ? 'template' : 'reason';
    throw invalidRequest('request_service needs a template and a reason.', [
      { path, message: 'is required' },
    ]);
  }
  const parseResult = serviceRequestBody.safeParse({
    kind: 'service',
    template,
    reason,
    ...(name === undefined ? {} : { name }),
    ...(actions === undefined ? {} : { actions }),
    ...(tier === undefined ? {} : { tier }),
  });
  if (!parseResult.success) {
    throw invalidArgumentsError(parseResult.error);
  }
  const createdRequest = await deps.executor.createRequest(
    { principal: caller.principal, body: parseResult.data, context },
    deadlineIn(requestMsMax),
  );
  return presentCreatedRequest(createdRequest.request, caller.claims.identityId);
}

/**
 * The executor may return a request that was already open. If that request lacks some of the wanted
 * actions, the answer has a note about them.
 */
function presentCreatedRequest(request: ServiceRequest, callerId: string): Structured {
  const { actions_left_out: leftOut, requester } = request;
  const presented = presentRequest(request);
  if (leftOut === undefined) return presented;
  const note = `An open request is the answer, without ${leftOut.join(', ')}: its page shows and preselects only its own actions.`;
  if (requester.id === callerId)
    return { ...presented, note, next: nextAfterActionsLeftOut(request).toolCall };
  const advice = `${requester.name} asked first; call what you need once it is ready, and follow next if it lacks scopes.`;
  return { ...presented, note: `${note} ${advice}` };
}

/** Returns the state of a request, after waiting for up to `wait` seconds until it is closed. */
export async function readRequestStatus(
  { service, request, wait = 0 }: StatusFields,
  { deps, authenticate, signal }: ToolCall,
): Promise<Structured> {
  if (service !== undefined && request !== undefined) {
    throw invalidRequest('service_status takes a service or a request.', [
      { path: 'service', message: 'does not go with request; leave it out' },
    ]);
  }
  if (request === undefined) {
    throw invalidRequest('Only a request is waited for.', [
      { path: 'wait', message: 'goes with request' },
    ]);
  }
  const waitOptions = { authenticate, waitMs: wait * 1_000, id: request, disconnectSignal: signal };
  return presentRequest(await awaitRequest(deps, waitOptions));
}

/**
 * Withdraws a request of any kind for the caller. The request stays open if others made the same
 * request.
 */
export async function cancelRequest(
  { request: id }: StatusFields,
  { deps, caller, context }: ToolCall,
): Promise<Structured> {
  if (id === undefined) {
    throw invalidRequest('cancel_request needs a request.', [
      { path: 'request', message: 'is required' },
    ]);
  }
  const { principal } = caller;
  const request = await deps.executor.cancelRequest(
    { principal, id, context },
    deadlineIn(requestMsMax),
  );
  const note = 'You take no part any more; it stays open for others who asked for the same.';
  return { request, ...(request.status === 'open' && { note }) };
}

function presentRequest(request: ServiceRequest): Structured {
  if (request.status !== 'open') return { request };
  return { request, url: request.url, next: createWaitStep(request.id, 'url') };
}

export function invalidArgumentsError({ issues }: z.ZodError): AppError {
  return invalidRequest(
    'The request cannot be made so; correct the fields named in issues.',
    issues.map(({ path, message }) => ({ path: path.join('.'), message })),
  );
}

/**
 * Describes the call that waits until a request is closed. `link` names the field with the link to
 * show to the user.
 */
export function createWaitStep(id: string, link: string): Structured {
  const toolArguments = { operation: 'service_status', request: id, wait: waitSecondsMax };
  const sentenceForAgent = `Show ${link} to your user; this waits until the request is answered.`;
  return { tool: 'service_auth', arguments: toolArguments, say: sentenceForAgent };
}
