import { isCredentialHeader } from './credential-headers.ts';
import type { HeaderPair } from './built-request.ts';

export const redactionMarker = '[REDACTED]';

/**
 * Headers in the form that people read, by name. Repeated headers are joined (RFC 9110 §5.3), and
 * headers with credentials are shown without their value, with its size.
 */
export function toShownHeaders(headers: readonly HeaderPair[]): Record<string, string> {
  const valuesByName = new Map<string, string>();
  for (const [name, value] of headers) {
    const text = isCredentialHeader(name) ? hideValue(value) : decodeHeaderText(value);
    const earlierValue = valuesByName.get(name);
    valuesByName.set(name, earlierValue === undefined ? text : `${earlierValue}, ${text}`);
  }
  return Object.fromEntries(valuesByName);
}

/**
 * The size tells people an empty or short value from one that carries more. A value that was hidden
 * before has no size any more.
 */
function hideValue(value: string): string {
  if (value === redactionMarker) return redactionMarker;
  return `${redactionMarker} (${decodeHeaderText(value).length} characters)`;
}

/** Decodes a header value, which contains UTF-8 with one character per byte (see `headerText`). */
function decodeHeaderText(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8');
}
