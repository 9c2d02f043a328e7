import type { JsonValue } from '#contracts/vocabulary';
import type { Credential } from './inject.ts';
import { createScrubber } from './scrub.ts';

/** What a server says of itself, without the credentials it may repeat in it. */
export function withoutCredentials<Said extends object>(
  said: Said,
  credentials: readonly Credential[],
): Said {
  const scrubber = createScrubber(credentials.map(({ value }) => value));
  return scrubber.json(said as unknown as JsonValue) as unknown as Said;
}
