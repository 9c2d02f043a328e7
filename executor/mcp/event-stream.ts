import type { JsonValue } from '#contracts/vocabulary';
import { parseBoundedJson } from '../domain/shape-body.ts';
import { isListChanged, isResponseTo } from './message.ts';
import type { RpcResponse } from './message.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Looks through a stream of events (WHATWG HTML §9.2) for the answer to one request, piece by
 * piece as it arrives: a server may keep the stream open after it. Costs what the stream is long,
 * however small its pieces are. What is no stream of events has no line that begins with `data:`.
 */
export class AnswerFinder {
  readonly #id: string;
  readonly #onListChanged: () => void;
  readonly #line = new GrowingText();
  #data: string[] = [];
  #found: RpcResponse | undefined;

  constructor(id: string, onListChanged: () => void) {
    this.#id = id;
    this.#onListChanged = onListChanged;
  }

  get found(): RpcResponse | undefined {
    return this.#found;
  }

  /** True once the answer is there. */
  feed(piece: Uint8Array): boolean {
    let from = 0;
    while (this.#found === undefined) {
      const end = piece.indexOf(lineFeed, from);
      if (end < 0) break;
      this.#line.append(piece.subarray(from, end));
      this.#readLine(this.#line.take());
      from = end + 1;
    }
    this.#line.append(piece.subarray(from));
    return this.#found !== undefined;
  }

  #readLine(line: string): void {
    if (line === '') {
      const text = this.#data.join('\n');
      this.#data = [];
      if (text !== '') this.#readEvent(parseBoundedJson(text));
    } else if (line.startsWith('data:')) {
      this.#data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
  }

  /** Progress, logs and requests of the server are passed over: we offered to answer none. */
  #readEvent(message: JsonValue | undefined): void {
    if (isResponseTo(message, this.#id)) this.#found = message;
    else if (isListChanged(message)) this.#onListChanged();
  }
}

/** One line as it grows. A buffer that doubles, because a million pieces of one byte must not cost a million objects. */
class GrowingText {
  #bytes = Buffer.alloc(1024);
  #length = 0;

  append(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = needed;
  }

  take(): string {
    const isBroken = this.#length > 0 && this.#bytes[this.#length - 1] === carriageReturn;
    const line = this.#bytes.toString('utf8', 0, isBroken ? this.#length - 1 : this.#length);
    this.#length = 0;
    return line;
  }
}
