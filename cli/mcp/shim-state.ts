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
  /** Requests that are not answered yet, by their ids. */
  readonly pendingRequests: Map<FrameId, AbortController>;
  /** Whether the gateway's general stream is open. */
  isListening: boolean;
  /** Aborted to end everything immediately. */
  readonly stopped: AbortSignal;
  /** Aborted when the input has ended. It ends the streams that would not end by themselves. */
  readonly inputEndController: AbortController;
}
