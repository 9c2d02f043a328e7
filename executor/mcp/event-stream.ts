import type { JsonValue } from '#contracts/vocabulary';
import { parseBoundedJson } from '../answers/domain/shape-body.ts';
import { isListChanged, isResponseTo } from './domain/message.ts';
import type { RpcResponse } from './domain/message.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Searches a stream of events (WHATWG HTML §9.2) for the answer to one request. It reads the stream
 * as it arrives, because a server may keep the stream open after the answer. The cost is
 * proportional to the length of the stream, however small the pieces are. In a body that is not an
 * event stream it finds nothing, because no line begins with `data:`.
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

  /** True once the answer is found. */
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

  /**
   * Reads one event. Ignores progress, logs and requests from the server, because the client has
   * declared no capability to handle them.
   */
  #readEvent(message: JsonValue | undefined): void {
    if (isResponseTo(message, this.#id)) this.#found = message;
    else if (isListChanged(message)) this.#onListChanged();
  }
}

/**
 * A line that grows piece by piece. Its buffer doubles when it is full, because a line of a million
 * one-byte pieces must not cost a million objects.
 */
class GrowingText {
  #bytes = Buffer.alloc(1024);
  #length = 0;

  append(piece: Uint8Array): void {
    const neededBytes = this.#length + piece.length;
    if (neededBytes > this.#bytes.length) {
      const largerBuffer = Buffer.alloc(Math.max(neededBytes, this.#bytes.length * 2));
      this.#bytes.copy(largerBuffer, 0, 0, this.#length);
      this.#bytes = largerBuffer;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = neededBytes;
  }

  take(): string {
    const endsInCarriageReturn =
      this.#length > 0 && this.#bytes[this.#length - 1] === carriageReturn;
    const line = this.#bytes.toString(
      'utf8',
      0,
      endsInCarriageReturn ? this.#length - 1 : this.#length,
    );
    this.#length = 0;
    return line;
  }
}
