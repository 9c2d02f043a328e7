import { invalidParam } from '#templates';

/**
 * Encodes a header value as UTF-8, one character per byte, because Node writes each character of a
 * header as one byte. This is the only way to send more than ASCII (RFC 9110 §5.5).
 */
export function toHeaderText(value: string, name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are searched for
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value) || !value.isWellFormed()) {
    throw invalidParam(name, 'holds control characters, which a header cannot carry');
  }
  // oxlint-disable-next-line no-control-regex -- ASCII is a range of code points
  return /^[\u0000-\u007f]*$/.test(value) ? value : Buffer.from(value, 'utf8').toString('latin1');
}
