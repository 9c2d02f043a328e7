import { isCredentialHeader } from './credential-headers.ts';
import type { HeaderPair } from './built-request.ts';

export const redactionMarker = '[REDACTED]';

/**
 * Headers in readable form, by name. Repeated headers are joined (RFC 9110 §5.3). Headers with
 * credentials show the size of the value instead of the value.
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
 * The size shows people whether a value is empty or short, or long enough to carry more. A value
 * that was redacted before has no size any more.
 */
function hideValue(value: string): string {
  if (value === redactionMarker) return redactionMarker;
  return `${redactionMarker} (${decodeHeaderText(value).length} characters)`;
}

/** Decodes a header value, which contains UTF-8 with one character per byte (see `headerText`). */
function decodeHeaderText(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8');
}
