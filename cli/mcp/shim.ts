import { setTimeout as sleep } from 'node:timers/promises';

import { toFailureLine, notAFrameFailure, tooLongFailure } from './failure.ts';
import { forwardFrame } from './forward.ts';
import { frameSizeMax, parseFrame } from './frame.ts';
import { readLines } from './lines.ts';
import type { Shim } from './shim-state.ts';

/**
 * The most requests that may be unanswered at one time; an editor sends fewer. While this limit is
 * reached, stdin is not read.
 */
const tasksMax = 128;
const lastAnswersMs = 60_000;

/**
 * Forwards each frame of the editor to the gateway, and each answer to the editor. It returns when
 * the input has ended and every request is answered, or when `stopped` is aborted.
 *
 * Frames are sent concurrently, with two exceptions. No frame overtakes `initialize`, because its
 * answer determines the headers of all later requests. No frame overtakes a notification, because
 * later frames may depend on the notification.
 */
export async function runShim({
  stopped,
  ...parts
}: Pick<Shim, 'access' | 'transport' | 'editor' | 'stopped'>): Promise<void> {
  const shim: Shim = {
    ...parts,
    stopped,
    isListening: false,
    pendingRequests: new Map(),
    inputEndController: new AbortController(),
  };
  const tasks = new Set<Promise<void>>();
  try {
    for await (const line of readLines(shim.editor.input, frameSizeMax)) {
      const frame = line && parseFrame(line);
      if (!frame) {
        const failure = line ? notAFrameFailure : tooLongFailure;
        shim.editor.showSentence(failure.message);
        await shim.editor.write(toFailureLine(null, failure));
        continue;
      }
      const task = forwardFrame(shim, frame).finally(() => tasks.delete(task));
      tasks.add(task);
      if (frame.kind === 'notification' || frame.method === 'initialize') await task;
      else if (tasks.size >= tasksMax) await Promise.race(tasks);
    }
  } catch (error) {
    if (!stopped.aborted) throw error; // aborting `stopped` closes the input, which is not an error
  }
  shim.inputEndController.abort();
  await Promise.race([Promise.all(tasks), sleep(lastAnswersMs, undefined, { ref: false })]);
}
