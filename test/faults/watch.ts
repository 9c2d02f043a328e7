import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Reads the event stream throughout the run, as the dashboard does. After an interruption, it
 * resumes after the last event.
 */
export interface Watch extends AsyncDisposable {
  /** How often each event arrived, by its type and its approval. */
  readonly eventCounts: ReadonlyMap<string, number>;
  /** How often the stream was opened. */
  readonly connections: () => number;
}

export async function watchEvents(urls: readonly string[], cookie: string): Promise<Watch> {
  const eventCounts = new Map<string, number>();
  const ending = new AbortController();
  let lastId: string | undefined;
  let connections = 0;

  const readOnce = async (url: string): Promise<void> => {
    const reply = await fetch(`${url}/v1/events?types=approval.*,execution.*`, {
      headers: {
        cookie,
        accept: 'text/event-stream',
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      },
      signal: ending.signal,
    });
    if (reply.status !== 200) return;
    connections += 1;
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of reply.body ?? []) {
      const messages = (text + decoder.decode(chunk, { stream: true })).split('\n\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        const key = eventKeyOf(message);
        if (key !== undefined) eventCounts.set(key, (eventCounts.get(key) ?? 0) + 1);
        lastId = /^id: (.*)$/m.exec(message)?.[1] ?? lastId;
      }
    }
  };
  const reading = (async () => {
    for (let round = 0; !ending.signal.aborted; round += 1) {
      await readOnce(urls[round % urls.length] ?? '').catch(() => undefined);
      await sleep(200);
    }
  })();
  while (connections === 0 || lastId === undefined) await sleep(50);

  return {
    eventCounts,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await reading;
    },
  };
}

function eventKeyOf(message: string): string | undefined {
  const data = /^data: (.*)$/m.exec(message)?.[1];
  if (data === undefined) return undefined;
  const event = JSON.parse(data) as { type: string; data: { id?: string; approval_id?: string } };
  return `${event.type} ${event.data.approval_id ?? event.data.id ?? ''}`;
}
