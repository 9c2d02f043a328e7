import { setTimeout as sleep } from 'node:timers/promises';
import type { IncomingMessage } from 'node:http';

import { readEvents } from './event-stream.ts';
import { failureLine, failureOfAnswer, failureOfError, noAnswer } from './failure.ts';
import type { Failure } from './failure.ts';
import { maxFrame, parseReply } from './frame.ts';
import type { Frame } from './frame.ts';
import { isEventStream, isGood, readBody } from './http.ts';
import { reconnectMs, listenToGateway } from './listen.ts';
import type { Shim } from './shim.ts';

const resumeAttempts = 5;

/** Sends one frame and writes what comes back: for a request exactly one answer, whatever happens. */
export async function forward(shim: Shim, frame: Frame): Promise<void> {
  const { underWay, stopped, noMoreInput } = shim;
  const cancelled = new AbortController();
  const isSubscription = frame.method === 'subscriptions/listen';
  const signal = AbortSignal.any([
    cancelled.signal,
    stopped,
    ...(isSubscription ? [noMoreInput.signal] : []),
  ]);
  if (frame.kind === 'request' && frame.id !== undefined) underWay.set(frame.id, cancelled);
  try {
    const failure = await exchange(shim, frame, signal);
    if (failure) await fail(shim, frame, failure);
  } catch (error) {
    if (!signal.aborted) await fail(shim, frame, failureOfError(error, shim.access));
  } finally {
    if (frame.id !== undefined && underWay.get(frame.id) === cancelled) underWay.delete(frame.id);
  }
}

async function exchange(
  shim: Shim,
  frame: Frame,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  if (frame.cancels !== undefined) return cancel(shim, frame, signal);
  const failure = await post(shim, frame, signal);
  if (!failure && frame.method === 'notifications/initialized' && !shim.isListening) {
    shim.isListening = true;
    void listenToGateway(shim);
  }
  return failure;
}

/**
 * A request of revision 2026-07-28 is cancelled by closing its connection, an earlier one by a
 * notification; either way nobody waits for its answer any more.
 */
async function cancel(shim: Shim, frame: Frame, signal: AbortSignal): Promise<Failure | undefined> {
  const request = frame.cancels === undefined ? undefined : shim.underWay.get(frame.cancels);
  const failure = frame.ownVersion === undefined ? await post(shim, frame, signal) : undefined;
  request?.abort();
  return failure;
}

async function post(shim: Shim, frame: Frame, signal: AbortSignal): Promise<Failure | undefined> {
  const answer = await shim.transport.post(frame, signal);
  if (isGood(answer) && isEventStream(answer)) {
    const isAnswered = await relayStream(shim, { frame, answer, signal });
    return isAnswered || frame.kind !== 'request' ? undefined : noAnswer;
  }
  const body = await readBody(answer, maxFrame);
  if (await relay(shim, { frame, answer, text: body })) return undefined;
  if (isGood(answer) && frame.kind !== 'request') return undefined;
  return failureOfAnswer(answer, body, shim.access);
}

/** Whether it is the answer to the frame; if so, or if it is a message of its own, it is written. */
async function relay(
  shim: Shim,
  { frame, answer, text }: { frame: Frame; answer: IncomingMessage; text: string },
): Promise<boolean> {
  const reply = parseReply(text);
  if (!reply) return false;
  const isOurs = reply.isAnswer && frame.kind === 'request' && reply.answers === frame.id;
  if (reply.isAnswer && !isOurs) return false;
  if (isOurs && frame.method === 'initialize' && reply.protocolVersion !== undefined) {
    const id = answer.headers['mcp-session-id'];
    shim.transport.settle({ id: id?.toString(), version: reply.protocolVersion });
  }
  await shim.editor.write(reply.line);
  return isOurs;
}

/**
 * Writes each message of a stream, and takes the stream up again where it broke off, if the
 * gateway has given it a place to continue from.
 */
async function relayStream(
  shim: Shim,
  { frame, answer, signal }: { frame: Frame; answer: IncomingMessage; signal: AbortSignal },
): Promise<boolean> {
  let lastEventId: string | undefined;
  let wait = reconnectMs;
  let isAnswered = false;
  let stream = answer;
  for (let attempt = 0; ; attempt++) {
    try {
      for await (const event of readEvents(stream, maxFrame)) {
        lastEventId = event.id ?? lastEventId;
        wait = event.retry ?? wait;
        if (event.data === '') continue;
        if (await relay(shim, { frame, answer, text: event.data })) isAnswered = true;
        // What is resumed is the gateway's general stream, which goes on.
        if (isAnswered && stream !== answer) return true;
      }
    } catch (error) {
      const canGoOn = isAnswered || lastEventId !== undefined;
      if (signal.aborted || !canGoOn) throw error;
    }
    if (isAnswered || lastEventId === undefined || attempt === resumeAttempts) return isAnswered;
    await sleep(wait, undefined, { signal });
    stream = await shim.transport.listen({ lastEventId }, signal);
    if (!isGood(stream) || !isEventStream(stream)) {
      stream.destroy();
      return false;
    }
  }
}

async function fail({ editor }: Shim, { kind, id }: Frame, failure: Failure): Promise<void> {
  editor.say(failure.message);
  if (kind === 'request' && id !== undefined) await editor.write(failureLine(id, failure));
}
