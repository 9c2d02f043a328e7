import { AppError } from '#errors';
import { subjectOf } from '../contracts/define.ts';
import type { Contract } from '../contracts/define.ts';
import type { Component } from '../contracts/vocabulary.ts';
import { answerRequest, answerTooLargeError, messageBytesMax } from './answer.ts';
import type { ServedEndpoint } from './answer.ts';
import { copyJson, isLargerThan } from './copy-json.ts';
import type { JsonCopy } from './copy-json.ts';
import type { RequestGate } from './request-gate.ts';

export interface LocalRequest {
  /** The endpoint's name in the contract. */
  readonly name: string;
  readonly body: JsonCopy;
  readonly caller: Component;
  readonly timeoutMs: number;
}

export type LocalAnswer =
  | { readonly response: unknown; readonly error?: undefined }
  | { readonly error: AppError; readonly isDatabaseLost: boolean };

/** Answers the requests for one contract. Never rejects. */
export type LocalResponder = (request: LocalRequest) => Promise<LocalAnswer>;

/**
 * The components that run in one process and answer each other without NATS. A request and its
 * answer are copied, checked, limited and given a deadline as on the bus, so that a component
 * cannot tell the difference. This is no security boundary: code in one process can do what every
 * component of that process may do.
 */
export interface LocalTransport {
  /** The responder of a component that takes requests now. */
  find(owner: Component): LocalResponder | undefined;
  /** Until the result is disposed, requests for `owner` reach this responder. */
  register(owner: Component, responder: LocalResponder): Disposable;
}

/** Given to each component of a process, so that they reach each other without NATS. */
export interface InProcess {
  readonly local?: LocalTransport | undefined;
}

export function createLocalTransport(): LocalTransport {
  const respondersByOwner = new Map<Component, LocalResponder>();
  return {
    find: (owner) => respondersByOwner.get(owner),
    register(owner, responder) {
      respondersByOwner.set(owner, responder);
      return {
        [Symbol.dispose]() {
          if (respondersByOwner.get(owner) === responder) respondersByOwner.delete(owner);
        },
      };
    },
  };
}

/** Answers requests from the same process with the handlers that also serve the bus. */
export function createLocalResponder(
  contract: Contract,
  endpoints: ReadonlyMap<string, ServedEndpoint>,
  gate: RequestGate,
): LocalResponder {
  return async ({ name, body, caller, timeoutMs }) => {
    const served = endpoints.get(name);
    if (served === undefined || !served.endpoint.callers.includes(caller)) {
      const error = new AppError('forbidden', `${subjectOf(contract, name)} is not for you.`);
      return { error, isDatabaseLost: false };
    }
    const place = gate.enter(caller, () => Buffer.from(JSON.stringify(body.value)));
    if (place instanceof AppError) return { error: place, isDatabaseLost: false };

    let answer: LocalAnswer | undefined;
    const answering = answerRequest(
      served,
      { caller, timeoutMs, readJson: () => body.value },
      {
        reply: (response) => {
          const copy = copyJson(response);
          if (isLargerThan(messageBytesMax, copy)) throw answerTooLargeError();
          answer = { response: copy.value };
        },
        refuse: (error, { isDatabaseLost }) => {
          answer = { error: copyError(error), isDatabaseLost };
        },
      },
    );
    place.holdUntil(answering);
    await answering;
    return answer!;
  };
}

/**
 * The error as its caller gets it. The cause is left out, because it is only for the component's
 * own log.
 */
function copyError({ code, message, details }: AppError): AppError {
  return new AppError(code, message, { details: copyJson(details).value as AppError['details'] });
}
