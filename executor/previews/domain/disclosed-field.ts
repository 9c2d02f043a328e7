import type { DisclosedField } from '#contracts/audit';
import type { CompiledAction } from '#contracts/template';
import { visibleLine, visibleText } from '#templates';

type DiscloseEntry = CompiledAction['disclose'][number];
type FilterResult =
  | { readonly ok: true; readonly outputs: readonly string[] }
  | { readonly ok: false; readonly message: string };

const fieldBytesMax = 10_240;
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** One field of the approval card: the output of a filter, shortened to its limit. */
export function toDisclosedField(
  { label: shownLabel, maxChars }: DiscloseEntry,
  filtered: FilterResult,
): DisclosedField {
  const label = visibleLine(shownLabel).slice(0, 100);
  if (!filtered.ok) {
    const error = visibleLine(filtered.message).slice(0, 300);
    return { label, value: '', truncated: false, error };
  }
  const nonNullOutputs = filtered.outputs.filter((output) => output !== 'null');
  // An empty text is shown as `(empty)`, because sending it clears a field at the upstream. If the
  // filter has no output, the call leaves the field unchanged.
  const text =
    nonNullOutputs.map(textOfOutput).join('\n') || (nonNullOutputs.length > 0 ? '(empty)' : '');
  const boundedText = Buffer.byteLength(text) <= fieldBytesMax ? text : cutBytes(text);
  const visiblePart = visibleText(boundedText);
  const value = shortenText(visiblePart, maxChars ?? fieldBytesMax);
  return {
    label,
    value,
    truncated: boundedText.length < text.length || value.length < visiblePart.length,
  };
}

/** A string without its JSON quotes; any other value as JSON. */
function textOfOutput(output: string): string {
  if (!output.startsWith('"')) return output;
  try {
    return String(JSON.parse(output));
  } catch {
    return output; // The output is not JSON, so it is shown unchanged.
  }
}

/**
 * Shortens a text to `maxChars` characters as a reader counts them, so that no letter is separated
 * from its accent. The result has at most 10 KiB.
 */
export function shortenText(text: string, maxChars: number): string {
  let boundedText = Buffer.byteLength(text) <= fieldBytesMax ? text : cutBytes(text);
  if (boundedText.length <= maxChars) return boundedText;
  let count = 0;
  for (const { index } of segmenter.segment(boundedText)) {
    if (count === maxChars) {
      boundedText = boundedText.slice(0, index);
      break;
    }
    count += 1;
  }
  return boundedText;
}

function cutBytes(text: string): string {
  const bytes = Buffer.from(text, 'utf8').subarray(0, fieldBytesMax);
  return new TextDecoder('utf-8').decode(bytes).replace(/\uFFFD{1,3}$/, '');
}
