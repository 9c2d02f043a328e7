import { StringDecoder } from 'node:string_decoder';

/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly id?: string;
  /** Milliseconds to wait before connecting to the stream again. */
  readonly retry?: number;
  /** The text of the event; empty for an event that only sets the id. */
  readonly data: string;
}

/**
 * Yields the events of a stream (HTML Living Standard, server-sent events), each as soon as it is
 * complete. An unfinished event at the end of a broken stream is dropped, as the standard requires.
 *
 * @param types The types of the events to yield; all others are ignored.
 * @throws if one event has more than `limit` characters.
 */
export async function* readEvents(
  stream: AsyncIterable<Uint8Array>,
  limit: number,
  types: readonly string[] = ['message'],
): AsyncGenerator<StreamEvent> {
  let eventLines = new EventLines(limit, types);
  for await (const line of readTextLines(stream, limit)) {
    if (line !== '') {
      eventLines.add(line);
      continue;
    }
    const completeEvent = eventLines.finish();
    eventLines = new EventLines(limit, types);
    if (completeEvent) yield completeEvent;
  }
}

/** Scans each chunk only once, because a large event arrives in thousands of chunks. */
async function* readTextLines(
  stream: AsyncIterable<Uint8Array>,
  limit: number,
): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let size = 0;
  let heldBack = '';
  for await (const chunk of stream) {
    let text = heldBack + decoder.write(chunk);
    // A carriage return at the end of the chunk may be the first half of a line end, so it waits
    // for the next chunk.
    heldBack = text.endsWith('\r') ? '\r' : '';
    if (heldBack) text = text.slice(0, -1);
    const [first = '', ...more] = text.split(/\r\n|\n|\r/);
    parts.push(first);
    size += first.length;
    if (size > limit) throw new Error(`an event of more than ${limit} characters`);
    for (const line of more) {
      yield parts.join('');
      parts = [line];
      size = line.length;
    }
  }
}

class EventLines {
  readonly #limit: number;
  readonly #types: readonly string[];
  readonly #data: string[] = [];
  #size = 0;
  #id: string | undefined;
  #retry: number | undefined;
  #type = '';

  constructor(limit: number, types: readonly string[]) {
    this.#limit = limit;
    this.#types = types;
  }

  add(line: string): void {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') {
      this.#size += value.length;
      if (this.#size > this.#limit) {
        throw new Error(`an event of more than ${this.#limit} characters`);
      }
      this.#data.push(value);
    }
    if (name === 'event') this.#type = value;
    if (name === 'id' && !value.includes('\0')) this.#id = value;
    if (name === 'retry' && /^\d{1,9}$/.test(value)) this.#retry = Number(value);
  }

  /**
   * Returns the finished event. Undefined if the event is to be ignored, because it has only
   * comments or because its type is not wanted.
   */
  finish(): StreamEvent | undefined {
    const isWanted = this.#types.includes(this.#type === '' ? 'message' : this.#type);
    const data = isWanted ? this.#data.join('\n') : '';
    if (data === '' && this.#id === undefined && this.#retry === undefined) return undefined;
    return {
      data,
      ...(this.#id !== undefined && { id: this.#id }),
      ...(this.#retry !== undefined && { retry: this.#retry }),
    };
  }
}
