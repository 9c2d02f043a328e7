/**
 * Decodes all percent triplets of a text. Bytes that are not UTF-8 become U+FFFD. Unlike
 * `decodeURIComponent` it throws nothing: an exception takes as long as reading thousands of
 * characters, and a caller could cause hundreds of thousands of them.
 */
export function decodePercents(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text);
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    const high = byte === percentSign ? hexValueOf(bytes[index + 1]) : undefined;
    const low = high === undefined ? undefined : hexValueOf(bytes[index + 2]);
    if (high === undefined || low === undefined) bytes[length] = byte;
    else {
      bytes[length] = 16 * high + low;
      index += 2;
    }
    length += 1;
  }
  return bytes.toString('utf8', 0, length);
}

const percentSign = 0x25;

function hexValueOf(code = 0): number | undefined {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}
