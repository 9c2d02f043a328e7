import { setTimeout as sleep } from 'node:timers/promises';

import { readEvents } from './event-stream.ts';
import { frameSizeMax, parseReply } from './frame.ts';
import { isEventStream, isSuccess } from './http.ts';
import type { Shim } from './shim-state.ts';

export const reconnectMs = 1_000;
const reconnectMsMin = 20;
const reconnectMsMax = 30_000;
/**
 * The statuses of temporary refusals, after which the shim asks for the stream again. Any other
 * refusal means that the gateway offers no stream.
 */
const temporaryRefusalStatuses = new Set([401, 403, 408, 429]);

/**
 * Passes on the messages that the gateway sends by itself, until the input ends. They come on the
 * stream that a GET request to the endpoint opens.
 */
export async function listenToGateway(shim: Shim): Promise<void> {
  const { transport, editor, stopped, inputEndController } = shim;
  const signal = AbortSignal.any([stopped, inputEndController.signal]);
  let lastEventId: string | undefined;
  let waitMs = reconnectMs;
  while (!signal.aborted) {
    try {
      const answer = await transport.listen({ lastEventId }, signal);
      const status = answer.statusCode ?? 0;
      const hasStream = isSuccess(answer) && isEventStream(answer);
      if (!hasStream) answer.destroy();
      if (!hasStream && status < 500 && !temporaryRefusalStatuses.has(status)) return;
      if (hasStream) {
        waitMs = reconnectMs;
        for await (const event of readEvents(answer, frameSizeMax)) {
          lastEventId = event.id ?? lastEventId;
          waitMs = Math.max(event.retry ?? waitMs, reconnectMsMin);
          const message = event.data === '' ? undefined : parseReply(event.data);
          // Answers are dropped here. The request that waits for the answer resumes its own stream,
          // so the answer would arrive twice.
          if (message && !message.isAnswer) await editor.write(message.line);
        }
      }
    } catch {
      // The stream is broken, refused or unreachable. Failing requests tell the person about that,
      // so this loop only tries again.
    }
    try {
      await sleep(waitMs, undefined, { signal });
    } catch {
      return;
    }
    waitMs = Math.min(waitMs * 2, reconnectMsMax);
  }
}
