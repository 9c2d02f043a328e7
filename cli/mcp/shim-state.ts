import type { Access } from '../credential/access.ts';
import type { FrameId } from './frame.ts';
import type { Transport } from './transport.ts';

/** The program that started the shim and exchanges frames with it over stdin and stdout. */
export interface Editor {
  readonly input: AsyncIterable<Buffer>;
  /** Writes one frame as soon as stdout has room for it. */
  readonly write: (line: string) => Promise<void>;
  /** Shows a sentence to the person at the editor. */
  readonly showSentence: (sentence: string) => void;
}

/** What all parts of a running shim share: the editor, the gateway, and the unanswered requests. */
export interface Shim {
  readonly access: Access;
  readonly transport: Transport;
  readonly editor: Editor;
  /** The requests without an answer, by their ids. The controller of a request cancels it. */
  readonly pendingRequests: Map<FrameId, AbortController>;
  /** Whether the stream of the messages that the gateway sends by itself is open. */
  isListening: boolean;
  /** Aborting this signal ends the shim immediately. */
  readonly stopped: AbortSignal;
  /**
   * The shim aborts this when the input has ended. That ends the streams that would not end by
   * themselves.
   */
  readonly inputEndController: AbortController;
}
