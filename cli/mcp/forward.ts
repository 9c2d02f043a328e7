import { setTimeout as sleep } from 'node:timers/promises';
import type { IncomingMessage } from 'node:http';

import { readEvents } from './event-stream.ts';
import { toFailureLine, failureOfAnswer, failureOfError, noAnswerFailure } from './failure.ts';
import type { Failure } from './failure.ts';
import { frameSizeMax, parseReply } from './frame.ts';
import type { Frame } from './frame.ts';
import { isEventStream, isSuccess, readBody } from './http.ts';
import { reconnectMs, listenToGateway } from './listen.ts';
import type { Shim } from './shim-state.ts';

const resumeAttemptsMax = 5;

/**
 * Sends one frame to the gateway and writes the answer to the editor. A request gets exactly one
 * answer, even when sending fails.
 */
export async function forwardFrame(shim: Shim, frame: Frame): Promise<void> {
  const { pendingRequests, stopped, inputEndController } = shim;
  const cancelController = new AbortController();
  const isSubscription = frame.method === 'subscriptions/listen';
  const signal = AbortSignal.any([
    cancelController.signal,
    stopped,
    ...(isSubscription ? [inputEndController.signal] : []),
  ]);
  if (frame.kind === 'request' && frame.id !== undefined) {
    pendingRequests.set(frame.id, cancelController);
  }
  try {
    const failure = await exchangeFrame(shim, frame, signal);
    if (failure) await reportFailure(shim, frame, failure);
  } catch (error) {
    if (!signal.aborted) await reportFailure(shim, frame, failureOfError(error, shim.access));
  } finally {
    if (frame.id !== undefined && pendingRequests.get(frame.id) === cancelController) {
      pendingRequests.delete(frame.id);
    }
  }
}

async function exchangeFrame(
  shim: Shim,
  frame: Frame,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  if (frame.cancelledId !== undefined) return cancelRequest(shim, frame, signal);
  const failure = await postFrame(shim, frame, signal);
  if (!failure && frame.method === 'notifications/initialized' && !shim.isListening) {
    shim.isListening = true;
    void listenToGateway(shim);
  }
  return failure;
}

/**
 * Cancels a request. Since revision 2026-07-28 the shim does that by closing the connection of the
 * request; in earlier revisions it sends a notification. Afterwards nothing waits for the answer to
 * the cancelled request.
 */
async function cancelRequest(
  shim: Shim,
  frame: Frame,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const request =
    frame.cancelledId === undefined ? undefined : shim.pendingRequests.get(frame.cancelledId);
  const failure = frame.ownVersion === undefined ? await postFrame(shim, frame, signal) : undefined;
  request?.abort();
  return failure;
}

async function postFrame(
  shim: Shim,
  frame: Frame,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const answer = await shim.transport.post(frame, signal);
  if (isSuccess(answer) && isEventStream(answer)) {
    const isAnswered = await relayStream(shim, { frame, answer, signal });
    return isAnswered || frame.kind !== 'request' ? undefined : noAnswerFailure;
  }
  const body = await readBody(answer, frameSizeMax);
  if (await relayMessage(shim, { frame, answer, text: body })) return undefined;
  if (isSuccess(answer) && frame.kind !== 'request') return undefined;
  return failureOfAnswer(answer, body, shim.access);
}

/**
 * Writes a message of the gateway to the editor, unless the message answers a frame other than this
 * one. Resolves with true if the message answers this frame.
 */
async function relayMessage(
  shim: Shim,
  { frame, answer, text }: { frame: Frame; answer: IncomingMessage; text: string },
): Promise<boolean> {
  const reply = parseReply(text);
  if (!reply) return false;
  const isAnswerToFrame =
    reply.isAnswer && frame.kind === 'request' && reply.answeredId === frame.id;
  if (reply.isAnswer && !isAnswerToFrame) return false;
  if (isAnswerToFrame && frame.method === 'initialize' && reply.protocolVersion !== undefined) {
    const id = answer.headers['mcp-session-id'];
    shim.transport.setSession({ id: id?.toString(), version: reply.protocolVersion });
  }
  await shim.editor.write(reply.line);
  return isAnswerToFrame;
}

/**
 * Writes each message of a stream to the editor. A broken stream is resumed if the gateway has sent
 * an event id from which it can be resumed.
 */
async function relayStream(
  shim: Shim,
  { frame, answer, signal }: { frame: Frame; answer: IncomingMessage; signal: AbortSignal },
): Promise<boolean> {
  let lastEventId: string | undefined;
  let waitMs = reconnectMs;
  let isAnswered = false;
  let currentStream = answer;
  for (let attempt = 0; ; attempt++) {
    try {
      for await (const event of readEvents(currentStream, frameSizeMax)) {
        lastEventId = event.id ?? lastEventId;
        waitMs = event.retry ?? waitMs;
        if (event.data === '') continue;
        if (await relayMessage(shim, { frame, answer, text: event.data })) isAnswered = true;
        // A resumed stream also carries other messages of the gateway, so it does not end with the
        // answer.
        if (isAnswered && currentStream !== answer) return true;
      }
    } catch (error) {
      const canGoOn = isAnswered || lastEventId !== undefined;
      if (signal.aborted || !canGoOn) throw error;
    }
    if (isAnswered || lastEventId === undefined || attempt === resumeAttemptsMax) return isAnswered;
    await sleep(waitMs, undefined, { signal });
    currentStream = await shim.transport.listen({ lastEventId }, signal);
    if (!isSuccess(currentStream) || !isEventStream(currentStream)) {
      currentStream.destroy();
      return false;
    }
  }
}

async function reportFailure(
  { editor }: Shim,
  { kind, id }: Frame,
  failure: Failure,
): Promise<void> {
  editor.showSentence(failure.message);
  if (kind === 'request' && id !== undefined) await editor.write(toFailureLine(id, failure));
}
