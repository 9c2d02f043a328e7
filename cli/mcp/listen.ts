import { setTimeout as sleep } from 'node:timers/promises';

import { readEvents } from './event-stream.ts';
import { frameSizeMax, parseReply } from './frame.ts';
import { isEventStream, isSuccess } from './http.ts';
import type { Shim } from './shim-state.ts';

export const reconnectMs = 1_000;
const reconnectMsMin = 20;
const reconnectMsMax = 30_000;
/**
 * The statuses of temporary refusals. After one of these it is worth asking for the stream again;
 * any other refusal means that the gateway offers no stream.
 */
const temporaryRefusalStatuses = new Set([401, 403, 408, 429]);

/**
 * Passes on the messages that the gateway sends by itself, on the stream that a GET of the endpoint
 * opens, until the input ends.
 */
export async function listenToGateway(shim: Shim): Promise<void> {
  const { transport, editor, stopped, inputEndController: noMoreInput } = shim;
  const signal = AbortSignal.any([stopped, noMoreInput.signal]);
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
          // An answer on this stream would be a duplicate, because the request that waits for the
          // answer resumes its own stream.
          if (message && !message.isAnswer) await editor.write(message.line);
        }
      }
    } catch {
      // The stream is broken, refused or unreachable. The person learns that from failing requests,
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
