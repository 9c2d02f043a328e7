import type { Call, CallResult } from '#contracts/call';
import type { JsonValue } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import { nextParams } from '../domain/next-page.ts';
import { createScrubber } from '../domain/scrub.ts';
import type { Scrubber } from '../domain/scrub.ts';
import { parseBoundedJson, shapeBody, shapeHeaders } from '../domain/shape-body.ts';
import type { PreparedCall } from './prepare.ts';
import type { Answer } from './send.ts';

export interface Shaping {
  readonly call: Call;
  readonly prepared: PreparedCall;
  readonly credentials: readonly Credential[];
  readonly answer: Answer;
  readonly durationMs: number;
}

/** A message of the bus holds 4 MiB, and JSON may spell one byte with six. */
const replyBytesMax = 3_900_000;

/** The upstream's answer in its public form. Injected credentials that it repeats are removed first of all. */
export async function shapeResult(deps: Pick<Deps, 'jq'>, shaping: Shaping): Promise<CallResult> {
  const { call, prepared, credentials, answer, durationMs } = shaping;
  const scrubber = createScrubber(credentials.map(({ value }) => value));
  const headers = shapeHeaders(answer.headers, scrubber);
  const { body, jsonText, omitted } = shapeBody(answer, {
    contentType: headers['content-type'] ?? '',
    binary: call.kind === 'action' && prepared.action?.responseType === 'binary',
    scrubber,
  });
  const next = nextOf(shaping, headers['link']);
  const result: CallResult = {
    status_code: answer.status,
    headers,
    body,
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(call.filter === null ? {} : await applyFilter(deps, call.filter, { jsonText, scrubber })),
    ...(omitted ? { body_omitted: omitted } : {}),
    ...(next ? { next } : {}),
  };
  return fitReply(result, headers['content-type'] ?? '', answer.body?.length ?? null);
}

/** One output is the value itself, several are a list. A filter that fails costs only its own field. */
export async function applyFilter(
  { jq }: Pick<Deps, 'jq'>,
  filter: string,
  { jsonText, scrubber }: { jsonText: string | undefined; scrubber: Scrubber },
): Promise<Pick<CallResult, 'filtered_body' | 'filter_error'>> {
  if (jsonText === undefined)
    return { filter_error: 'The answer is not JSON, so there is nothing to filter.' };
  const filtered = await jq.run({ filter, input: jsonText });
  if (!filtered.ok) return { filter_error: scrubber.text(filtered.message).slice(0, 500) };
  const values: JsonValue[] = [];
  for (const output of filtered.outputs) {
    const value = parseBoundedJson(output);
    if (value === undefined)
      return { filter_error: 'The filter makes values that are nested too deeply.' };
    values.push(scrubber.json(value));
  }
  return { filtered_body: values.length === 1 ? (values[0] ?? null) : values };
}

function nextOf(
  { call, prepared, answer, credentials }: Shaping,
  link: string | undefined,
): CallResult['next'] {
  if (call.kind !== 'action' || prepared.action === undefined) return undefined;
  const injected = new Set(
    credentials.flatMap(({ injection }) => (injection.in === 'query' ? [injection.key] : [])),
  );
  const params = prepared.action.params.filter((param) => !injected.has(param.wireName));
  return nextParams(link, { params, given: call.params, url: answer.url });
}

export function fitReply(result: CallResult, contentType: string, size: number | null): CallResult {
  if ((size ?? 0) < 500_000 || Buffer.byteLength(JSON.stringify(result)) < replyBytesMax)
    return result;
  const omitted = { reason: 'too_large' as const, content_type: contentType.slice(0, 200), size };
  return { ...result, body: null, body_omitted: omitted };
}
