import { invalidParam } from '#templates';

/** A header value in the bytes of UTF-8, which is how a header carries more than ASCII (RFC 9110 §5.5). */
export function headerText(value: string, name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value) || !value.isWellFormed()) {
    throw invalidParam(name, 'holds control characters, which a header cannot carry');
  }
  // oxlint-disable-next-line no-control-regex -- ASCII is a range of code points
  return /^[\u0000-\u007f]*$/.test(value) ? value : Buffer.from(value, 'utf8').toString('latin1');
}
