import { setImmediate } from 'node:timers/promises';

import { canonicalJson } from '#signing';
import type { Toolset } from './domain/toolset.ts';

/** How much text is compared before other tasks run; it takes some milliseconds. */
const charactersPerTurn = 128 * 1024;

/**
 * Compares two toolsets tool by tool, and lets other tasks run in between, because the tools of one
 * server may have megabytes of text.
 */
export async function isSameToolset(left: Toolset, right: Toolset): Promise<boolean> {
  if (left.protocolVersion !== right.protocolVersion) return false;
  if (left.tools.length !== right.tools.length) return false;
  let charactersSinceTurn = 0;
  for (const [at, tool] of left.tools.entries()) {
    const text = canonicalJson(tool);
    if (text !== canonicalJson(right.tools[at] ?? null)) return false;
    charactersSinceTurn += text.length;
    if (charactersSinceTurn < charactersPerTurn) continue;
    charactersSinceTurn = 0;
    await setImmediate();
  }
  return true;
}
