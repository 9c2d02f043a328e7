import type { JsonValue } from '#contracts/vocabulary';
import { secretTextsOf } from '../../request/domain/inject.ts';
import type { Credential } from '../../request/domain/inject.ts';
import { createScrubber } from '../../answers/domain/scrub.ts';

/**
 * Removes credentials from the name, version and tools that an MCP server reports about itself: a
 * server may repeat what it received.
 */
export function removeCredentials<Said extends object>(
  message: Said,
  credentials: readonly Credential[],
): Said {
  const scrubber = createScrubber(secretTextsOf(credentials));
  return scrubber.json(message as unknown as JsonValue) as unknown as Said;
}
