import type { JsonValue } from '#contracts/vocabulary';
import type { AppError } from '#errors';
import { invalidParam } from '#templates';

/**
 * Redacts a body that the caller gave as text. Undefined when the text certainly contains nothing
 * at the path.
 */
export function redactInText(
  text: string,
  redact: (value: JsonValue) => JsonValue,
): string | undefined {
  const value = parseJson(text);
  if (value === undefined) return undefined;
  const originalJson = JSON.stringify(value);
  if (originalJson !== text && originalJson !== toPlainJson(text)) return undefined;
  const redacted = redact(value);
  if (redacted === value) return text;
  const redactedJson = JSON.stringify(redacted);
  return redactedJson === originalJson ? text : redactedJson;
}

/**
 * The error for a text whose redacted values cannot be found. Showing the text would reveal them,
 * and hiding the text would mean that a person approves it unseen.
 */
export function unreadableTextError(): AppError {
  return invalidParam(
    'body',
    'holds what is not shown to those who approve; give it as an object instead of a text, so that the rest can be shown',
  );
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/**
 * Writes JSON text as `JSON.stringify` would, but keeps all members of an object when several have
 * the same name.
 */
function toPlainJson(text: string): string {
  return text.replaceAll(
    /("[^"\\]*(?:\\.[^"\\]*)*")|(-?\d[\d.eE+-]*)|\s+/g,
    (_, quoted: string | undefined, number: string | undefined) => {
      if (quoted !== undefined) return JSON.stringify(JSON.parse(quoted));
      return number === undefined ? '' : JSON.stringify(Number(number));
    },
  );
}
