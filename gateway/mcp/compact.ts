import type { CallResult } from '#contracts/call';
import type { Structured } from './tool.ts';

/** Spec, Limits: the compact body is capped at about 8 KB. */
const bodyBytesMax = 8_192;

/** What an agent needs of an upstream answer: no headers, and no more of the body than fits a context. */
export function compactResult(result: CallResult): Structured {
  const { headers: _, body, filtered_body: filtered, ...rest } = result;
  // A filter's output is what was asked for; the whole body beside it would defeat its purpose.
  if (filtered !== undefined) return { ...rest, ...capped('filtered_body', filtered) };
  return { ...rest, ...capped('body', body) };
}

/** Spec: `status_code`, `headers`, the body as text, `duration_ms` and any `filtered_body`. */
export function verboseResult({ body, ...rest }: CallResult): Structured {
  return { ...rest, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

/** The value as it is, or the beginning of its text with how much is missing. */
function capped(field: string, value: unknown): Structured {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const bytes = Buffer.from(text);
  if (bytes.length <= bodyBytesMax) return { [field]: value };
  // A character cut in two at the end becomes U+FFFD.
  const shown = bytes
    .subarray(0, bodyBytesMax)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
  return {
    [field]: shown,
    truncated: {
      field,
      shown_bytes: Buffer.byteLength(shown),
      size_bytes: bytes.length,
      hint: "Only the beginning is shown, as text. Ask for less with the action's own parameters, or call again with verbose: true for all of it.",
    },
  };
}
