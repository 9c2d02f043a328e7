import type { CallResult } from '#contracts/call';
import type { JsonValue } from '#contracts/vocabulary';
import { jsonBytes, shrinkJson } from '../domain/shrink-json.ts';
import type { Structured } from './tool.ts';

/** The most of a body that a compact result shows (docs/reference/calling.md#compact-results). */
const bodyBytesMax = 8_192;

/** What an agent needs of an upstream answer: no headers, and no more of the body than fits a context. */
export function compactResult(result: CallResult): Structured {
  const { headers: _, body, filtered_body: filtered, ...rest } = result;
  // A filter's output is what was asked for; the whole body beside it would defeat its purpose.
  if (filtered !== undefined) return { ...rest, ...capped('filtered_body', filtered, true) };
  return { ...rest, ...capped('body', body, typeof body !== 'string') };
}

/** The whole result, with the body as text (docs/reference/calling.md#compact-results). */
export function verboseResult({ body, ...rest }: CallResult): Structured {
  return { ...rest, body: typeof body === 'string' || body === null ? body : JSON.stringify(body) };
}

/** The value as it is, or as much of it as fits, still JSON, with what is missing and how to get it. */
function capped(field: 'body' | 'filtered_body', given: JsonValue, canFilter: boolean): Structured {
  const { value, leftOut } = shrinkJson(given, bodyBytesMax);
  if (value === given) return { [field]: value };
  const { at, ...counts } = leftOut;
  return {
    [field]: value,
    truncated: {
      field,
      shown_bytes: jsonBytes(value),
      size_bytes: jsonBytes(given),
      left_out: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      at,
      hint: `${field} is incomplete: left_out counts what is missing, at points to the first places. Ask for less with the action's own parameters${canFilter ? ' or a jq filter (service_read)' : ''}, or call again with verbose: true for all of it.`,
    },
  };
}
