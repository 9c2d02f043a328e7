import { setTimeout as sleep } from 'node:timers/promises';

import type { Access } from '../credential/access.ts';
import type { Transport } from './transport.ts';
import { failureLine, notAFrame, tooLong } from './failure.ts';
import { forward } from './forward.ts';
import { maxFrame, parseFrame } from './frame.ts';
import type { FrameId } from './frame.ts';
import { readLines } from './lines.ts';

/** More than an editor asks at once; while so many are under way, stdin is not read. */
const maxUnderWay = 128;
const lastAnswersMs = 60_000;

/** Whoever started us, with frames on stdin and stdout. */
export interface Editor {
  readonly input: AsyncIterable<Buffer>;
  /** Writes one frame, as soon as there is room for it. */
  readonly write: (line: string) => Promise<void>;
  /** Tells the person in front of the editor. */
  readonly say: (sentence: string) => void;
}

export interface Shim {
  readonly access: Access;
  readonly transport: Transport;
  readonly editor: Editor;
  /** Requests whose answer has not come yet. */
  readonly underWay: Map<FrameId, AbortController>;
  /** Whether the gateway's own stream was asked for. */
  isListening: boolean;
  /** Ends everything at once. */
  readonly stopped: AbortSignal;
  /** Ends what would never end by itself; aborted when no more frames come. */
  readonly noMoreInput: AbortController;
}

/**
 * Forwards each frame of the editor to the gateway and each answer back, until the input ends
 * and everything under way is answered, or until `stopped`.
 *
 * Frames go side by side, but for two: nothing overtakes `initialize`, which settles what all
 * later requests carry, or a notification, which may be about what comes after it.
 */
export async function runShim({
  stopped,
  ...parts
}: Pick<Shim, 'access' | 'transport' | 'editor' | 'stopped'>): Promise<void> {
  const shim: Shim = {
    ...parts,
    stopped,
    isListening: false,
    underWay: new Map(),
    noMoreInput: new AbortController(),
  };
  const tasks = new Set<Promise<void>>();
  try {
    for await (const line of readLines(shim.editor.input, maxFrame)) {
      const frame = line && parseFrame(line);
      if (!frame) {
        const failure = line ? notAFrame : tooLong;
        shim.editor.say(failure.message);
        await shim.editor.write(failureLine(null, failure));
        continue;
      }
      const task = forward(shim, frame).finally(() => tasks.delete(task));
      tasks.add(task);
      if (frame.kind === 'notification' || frame.method === 'initialize') await task;
      else if (tasks.size >= maxUnderWay) await Promise.race(tasks);
    }
  } catch (error) {
    if (!stopped.aborted) throw error; // stopping closes the input
  }
  shim.noMoreInput.abort();
  await Promise.race([Promise.all(tasks), sleep(lastAnswersMs, undefined, { ref: false })]);
}
