import { setImmediate } from 'node:timers/promises';

import { canonicalJson } from '#signing';
import type { Toolset } from '../domain/toolset.ts';

/** Some milliseconds of comparing. */
const charactersPerTurn = 128 * 1024;

/** Tool by tool, with a turn of the event loop for others in between: all tools of a server may be megabytes. */
export async function isSameToolset(left: Toolset, right: Toolset): Promise<boolean> {
  if (left.protocolVersion !== right.protocolVersion) return false;
  if (left.tools.length !== right.tools.length) return false;
  let characters = 0;
  for (const [at, tool] of left.tools.entries()) {
    const text = canonicalJson(tool);
    if (text !== canonicalJson(right.tools[at] ?? null)) return false;
    characters += text.length;
    if (characters < charactersPerTurn) continue;
    characters = 0;
    await setImmediate();
  }
  return true;
}
