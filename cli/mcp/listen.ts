import { setTimeout as sleep } from 'node:timers/promises';

import { readEvents } from './event-stream.ts';
import { maxFrame, parseReply } from './frame.ts';
import { isEventStream, isGood } from './http.ts';
import type { Shim } from './shim.ts';

export const reconnectMs = 1_000;
const minReconnectMs = 20;
const maxReconnectMs = 30_000;
/** After these it is worth asking again later; after any other refusal there is no such stream. */
const passing = new Set([401, 403, 408, 429]);

/** Passes on what the gateway says by itself (GET of the endpoint), as long as frames may come. */
export async function listenToGateway(shim: Shim): Promise<void> {
  const { transport, editor, stopped, noMoreInput } = shim;
  const signal = AbortSignal.any([stopped, noMoreInput.signal]);
  let lastEventId: string | undefined;
  let wait = reconnectMs;
  while (!signal.aborted) {
    try {
      const answer = await transport.listen({ lastEventId }, signal);
      const status = answer.statusCode ?? 0;
      const hasStream = isGood(answer) && isEventStream(answer);
      if (!hasStream) answer.destroy();
      if (!hasStream && status < 500 && !passing.has(status)) return;
      if (hasStream) {
        wait = reconnectMs;
        for await (const event of readEvents(answer, maxFrame)) {
          lastEventId = event.id ?? lastEventId;
          wait = Math.max(event.retry ?? wait, minReconnectMs);
          const message = event.data === '' ? undefined : parseReply(event.data);
          // An answer would be a second one: whoever waits for it takes up its own stream.
          if (message && !message.isAnswer) await editor.write(message.line);
        }
      }
    } catch {
      // Broken, refused or unreachable: requests tell about that, this only tries again.
    }
    try {
      await sleep(wait, undefined, { signal });
    } catch {
      return;
    }
    wait = Math.min(wait * 2, maxReconnectMs);
  }
}
