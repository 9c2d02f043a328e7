import type { CallResult } from '#contracts/call';
import type { JsonValue } from '#contracts/vocabulary';
import { countJsonBytes, shrinkJson } from './domain/shrink-json.ts';
import type { Structured } from './tool.ts';

/** The maximum size of the body in a compact result (docs/reference/calling.md#compact-results). */
const bodyBytesMax = 8_192;

/**
 * Reduces the answer of an upstream to what an agent needs. Headers are left out, and the body
 * becomes small enough for the agent's context.
 */
export function toCompactResult(result: CallResult): Structured {
  const { headers: _, body, filtered_body: filtered, ...rest } = result;
  // The agent wants only the output of its filter, so the unfiltered body is left out.
  if (filtered !== undefined) return { ...rest, ...capField('filtered_body', filtered, true) };
  return { ...rest, ...capField('body', body, typeof body !== 'string') };
}

/** Returns the whole result, with the body as text (docs/reference/calling.md#compact-results). */
export function toVerboseResult({ body, ...rest }: CallResult): Structured {
  return { ...rest, body: typeof body === 'string' || body === null ? body : JSON.stringify(body) };
}

/**
 * Returns an object with the value in this field. A value that is too large is shortened, and a
 * second field tells what is missing and how to get it.
 */
function capField(
  field: 'body' | 'filtered_body',
  fullValue: JsonValue,
  canFilter: boolean,
): Structured {
  const { value, leftOut } = shrinkJson(fullValue, bodyBytesMax);
  if (value === fullValue) return { [field]: value };
  const { at, ...counts } = leftOut;
  return {
    [field]: value,
    truncated: {
      field,
      shown_bytes: countJsonBytes(value),
      size_bytes: countJsonBytes(fullValue),
      left_out: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      at,
      hint: `${field} is incomplete: left_out counts what is missing, at points to the first places. Ask for less with the action's own parameters${canFilter ? ' or a jq filter (service_read)' : ''}, or call again with verbose: true for all of it.`,
    },
  };
}
