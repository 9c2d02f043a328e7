import type { JsonValue } from '#contracts/vocabulary';
import type { AppError } from '#errors';
import { invalidParam } from '#templates';

/**
 * A body that the caller gave as a text, with what a path names redacted; undefined where the path leads
 * nowhere for certain.
 */
export function redactInText(
  text: string,
  redact: (value: JsonValue) => JsonValue,
): string | undefined {
  const value = parse(text);
  if (value === undefined) return undefined;
  const plain = JSON.stringify(value);
  if (plain !== text && plain !== plainJson(text)) return undefined;
  const redacted = redact(value);
  if (redacted === value) return text;
  const shown = JSON.stringify(redacted);
  return shown === plain ? text : shown;
}

/** Nobody is asked about such a text: shown it would give away what is to be hidden, hidden it would be approved unseen. */
export function unreadableText(): AppError {
  return invalidParam(
    'body',
    'holds what is not shown to those who approve; give it as an object instead of a text, so that the rest can be shown',
  );
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** As `JSON.stringify` writes it; a name that is there twice stays twice. */
function plainJson(text: string): string {
  return text.replaceAll(
    /("[^"\\]*(?:\\.[^"\\]*)*")|(-?\d[\d.eE+-]*)|\s+/g,
    (_, quoted: string | undefined, number: string | undefined) => {
      if (quoted !== undefined) return JSON.stringify(JSON.parse(quoted));
      return number === undefined ? '' : JSON.stringify(Number(number));
    },
  );
}
