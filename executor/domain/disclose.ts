import type { DisclosedField } from '#contracts/audit';
import type { CompiledAction } from '#contracts/template';
import { visibleLine, visibleText } from '#templates';

type Entry = CompiledAction['disclose'][number];
type Filtered =
  | { readonly ok: true; readonly outputs: readonly string[] }
  | { readonly ok: false; readonly message: string };

const lengthMax = 10_240;
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** One line of the approval card: what the template's filter found in the request, clamped. */
export function disclosedField(
  { label: said, maxChars }: Entry,
  filtered: Filtered,
): DisclosedField {
  const label = visibleLine(said).slice(0, 100);
  if (!filtered.ok) {
    const error = visibleLine(filtered.message).slice(0, 300);
    return { label, value: '', truncated: false, error };
  }
  const given = filtered.outputs.filter((output) => output !== 'null');
  // An empty text empties the field it is sent for; nothing at all leaves it as it is.
  const text = given.map(readable).join('\n') || (given.length > 0 ? '(empty)' : '');
  const bounded = Buffer.byteLength(text) <= lengthMax ? text : cutBytes(text);
  const visible = visibleText(bounded);
  const value = clamp(visible, maxChars ?? lengthMax);
  return { label, value, truncated: bounded.length < text.length || value.length < visible.length };
}

/** jq gives JSON texts: a string is shown without its quotes. */
function readable(output: string): string {
  if (!output.startsWith('"')) return output;
  try {
    return String(JSON.parse(output));
  } catch {
    return output; // Not JSON after all: shown as it is.
  }
}

/** Counts characters as a reader does, so that no letter loses its accent; never longer than 10 KiB. */
export function clamp(text: string, maxChars: number): string {
  let bounded = Buffer.byteLength(text) <= lengthMax ? text : cutBytes(text);
  if (bounded.length <= maxChars) return bounded;
  let count = 0;
  for (const { index } of segmenter.segment(bounded)) {
    if (count === maxChars) {
      bounded = bounded.slice(0, index);
      break;
    }
    count += 1;
  }
  return bounded;
}

function cutBytes(text: string): string {
  const bytes = Buffer.from(text, 'utf8').subarray(0, lengthMax);
  return new TextDecoder('utf-8').decode(bytes).replace(/\uFFFD{1,3}$/, '');
}
