import type { Person } from './people.ts';

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- looked at field by field
  readonly data: any;
}

/** The event stream as a browser receives it. */
export interface ReceivedEvents extends AsyncDisposable {
  /** The events of one type that have arrived so far, in order. */
  of(type: string): ReceivedEvent[];
}

/** Opens a signed-in person's event stream at one gateway, for the given types. */
export async function openEvents(
  url: string,
  { cookie }: Pick<Person, 'cookie'>,
  types: string,
): Promise<ReceivedEvents> {
  const ending = new AbortController();
  const reply = await fetch(`${url}/v1/events?types=${types}`, {
    headers: { cookie, accept: 'text/event-stream' },
    signal: ending.signal,
  });
  if (reply.status !== 200) throw new Error(`the event stream answered ${reply.status}`);
  let text = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of reply.body ?? []) text += decoder.decode(chunk, { stream: true });
  })().catch(() => undefined); // Reading fails when the stream is closed on purpose, which is no error.
  return {
    of: (type) =>
      [...text.matchAll(/^data: (.*)\n\n/gm)]
        .map(([, data = '']) => JSON.parse(data) as ReceivedEvent)
        .filter((event) => event.type === type),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await reading;
    },
  };
}
