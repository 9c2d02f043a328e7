import type { Call, CallResult } from '#contracts/call';
import type { JsonValue } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import { nextParams } from '../domain/next-page.ts';
import { isNonRead } from '../domain/retry.ts';
import { createScrubber } from '../domain/scrub.ts';
import type { Scrubber } from '../domain/scrub.ts';
import { omission, parseBoundedJson, shapeBody, shapeHeaders } from '../domain/shape-body.ts';
import { AppError } from '#errors';
import type { CallFacts } from './facts.ts';
import { keepFile } from './keep-file.ts';
import type { FileDeps } from './keep-file.ts';
import type { PreparedCall } from './prepare.ts';
import type { Answer } from './send.ts';

export interface Shaping {
  readonly facts: CallFacts;
  readonly call: Call;
  readonly prepared: PreparedCall;
  readonly credentials: readonly Credential[];
  readonly answer: Answer;
  readonly durationMs: number;
}

/** A message of the bus holds 4 MiB, and JSON may spell one byte with six. */
const replyBytesMax = 3_900_000;

/** The upstream's answer in its public form. Injected credentials that it repeats are removed first of all. */
export async function shapeResult(
  deps: Pick<Deps, 'jq'> & FileDeps,
  shaping: Shaping,
): Promise<CallResult> {
  const { facts, call, prepared, credentials, answer, durationMs } = shaping;
  const scrubber = createScrubber(credentials.map(({ value }) => value));
  const headers = shapeHeaders(answer.headers, scrubber);
  // What a download that fails says is no file.
  const isDownload = call.kind === 'action' && prepared.action?.responseType === 'binary';
  const { body, jsonText, ...rest } = shapeBody(answer, {
    contentType: headers['content-type'] ?? '',
    binary: isDownload && answer.status < 300,
    scrubber,
  });
  const kept = rest.file ? await keep(deps, shaping, { ...rest.file, headers }) : undefined;
  if (!rest.file) answer.stream?.destroy();
  const { file, omitted } = kept ?? { omitted: rest.omitted };
  const next = nextOf(shaping, headers['link']);
  const result: CallResult = {
    status_code: answer.status,
    headers,
    body,
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(call.filter === null
      ? {}
      : await applyFilter(deps, call.filter, { jsonText, scrubber, owner: facts.userId })),
    ...(file ? { file } : {}),
    ...(omitted ? { body_omitted: omitted } : {}),
    ...(next ? { next } : {}),
  };
  return fitReply(result, headers['content-type'] ?? '', answer.body?.length ?? null);
}

/**
 * The body as a file, or why there is none. A read that cannot give its body has failed, and can be
 * made again; of a non-read, which has been done, the body is all that is missing.
 */
async function keep(
  deps: FileDeps,
  { facts, prepared, credentials, answer }: Shaping,
  { isText, headers }: { isText: boolean; headers: Record<string, string> },
): Promise<Pick<CallResult, 'file'> & { omitted?: CallResult['body_omitted'] }> {
  try {
    return { file: await keepFile(deps, { facts, answer, credentials, headers, isText }) };
  } catch (thrown) {
    answer.stream?.destroy();
    const { code } = AppError.from(thrown);
    const isTooLarge = code === 'response_too_large';
    const isRead = !isNonRead(prepared.request.method, facts.nonRead);
    if (isRead && !isTooLarge) throw thrown;
    const isBroken = code.startsWith('upstream_');
    const reason = isTooLarge ? 'too_large' : isBroken ? 'incomplete' : 'not_stored';
    const contentType = headers['content-type'] ?? '';
    return { omitted: omission(reason, { headers: answer.headers, contentType }) };
  }
}

/** One output is the value itself, several are a list. A filter that fails costs only its own field. */
export async function applyFilter(
  { jq }: Pick<Deps, 'jq'>,
  filter: string,
  {
    jsonText,
    scrubber,
    owner,
  }: { jsonText: string | undefined; scrubber: Scrubber; owner: string },
): Promise<Pick<CallResult, 'filtered_body' | 'filter_error'>> {
  if (jsonText === undefined)
    return {
      filter_error:
        'The answer is not JSON, or too large to be filtered: only its beginning was looked at.',
    };
  const filtered = await jq.run({ filter, input: jsonText, owner });
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
