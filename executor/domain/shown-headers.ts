import { isCredentialHeader } from './credential-headers.ts';
import type { HeaderPair } from './request.ts';

export const redactedText = '[REDACTED]';

/** Headers as people read them: by name, repeated ones joined (RFC 9110 §5.3), those with credentials by name alone. */
export function shownHeaders(headers: readonly HeaderPair[]): Record<string, string> {
  const shown = new Map<string, string>();
  for (const [name, value] of headers) {
    const text = isCredentialHeader(name) ? redactedText : readable(value);
    const known = shown.get(name);
    shown.set(name, known === undefined ? text : `${known}, ${text}`);
  }
  return Object.fromEntries(shown);
}

/** A header carries the bytes of UTF-8, each as one character (see `headerText`). */
function readable(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8');
}
