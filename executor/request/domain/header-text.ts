import { invalidParam } from '#templates';

/**
 * Turns a header value into UTF-8 bytes, one character per byte: only so can a header contain more
 * than ASCII (RFC 9110 §5.5).
 */
export function toHeaderText(value: string, name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value) || !value.isWellFormed()) {
    throw invalidParam(name, 'holds control characters, which a header cannot carry');
  }
  // oxlint-disable-next-line no-control-regex -- ASCII is a range of code points
  return /^[\u0000-\u007f]*$/.test(value) ? value : Buffer.from(value, 'utf8').toString('latin1');
}
