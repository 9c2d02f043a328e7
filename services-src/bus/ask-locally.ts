import { TimeoutError } from '@nats-io/transport-node';

import { isAskAgain } from '#errors';
import type { AppError } from '#errors';
import type { Contract, EndpointSpec } from '../contracts/define.ts';
import { messageBytesMax, requestTooLargeError } from './answer.ts';
import type { Bus } from './connect.ts';
import { copyJson, isLargerThan } from './copy-json.ts';
import type { LocalAnswer } from './local.ts';

/**
 * Returns a function that sends a request to the component within this process; undefined when the
 * component does not run here or takes no requests. The function resolves with undefined when
 * another replica should be asked over the bus, because this one has lost its database or cannot
 * read the request. It throws the component's AppError, or `TimeoutError` as a request over the bus
 * does.
 */
export function findLocalResponder(
  { local }: Bus,
  { contract, name, endpoint }: { contract: Contract; name: string; endpoint: EndpointSpec },
  request: unknown,
): ((leftMs: number) => Promise<{ readonly response: unknown } | undefined>) | undefined {
  const respond = local?.transport.find(contract.owner);
  if (local === undefined || respond === undefined) return undefined;
  return async (timeoutMs) => {
    const body = copyJson(request);
    if (isLargerThan(messageBytesMax, body)) throw requestTooLargeError(contract.owner);
    const answering = respond({ name, body, caller: local.caller, timeoutMs });
    const answer = await withinTime(answering, timeoutMs);
    if (answer.error === undefined) return answer;
    if (mayAnotherAnswer(answer, endpoint)) return undefined;
    throw answer.error;
  };
}

function mayAnotherAnswer(
  { error, isDatabaseLost }: Extract<LocalAnswer, { error: AppError }>,
  { repeatable }: EndpointSpec,
): boolean {
  return (isDatabaseLost && repeatable !== false) || isAskAgain(error);
}

function withinTime(answering: Promise<LocalAnswer>, timeoutMs: number): Promise<LocalAnswer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TimeoutError()), timeoutMs);
    void answering.then((answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}
