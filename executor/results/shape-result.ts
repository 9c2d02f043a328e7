import type { Call, CallResult } from '#contracts/call';
import { replacedNamesOf } from '#contracts/credential-place';
import type { JsonValue } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { secretTextsOf } from '../request/domain/inject.ts';
import type { Credential } from '../request/domain/inject.ts';
import { nextPageParamsOf } from './domain/next-page.ts';
import { isNonRead } from '../sending/domain/retry.ts';
import { createScrubber } from '../answers/domain/scrub.ts';
import type { Scrubber } from '../answers/domain/scrub.ts';
import { omittedBodyOf, parseJson, shapeBody, shapeHeaders } from '../answers/domain/shape-body.ts';
import { AppError } from '#errors';
import type { PermitOrGap } from '../request/permit.ts';
import { findFailure } from './find-failure.ts';
import { keepFile } from './keep-file.ts';
import type { FileDeps } from './keep-file.ts';
import type { PreparedCall } from '../request/prepare-call.ts';
import type { Answer } from '../sending/sending.ts';

export interface AnswerToShape {
  readonly permit: PermitOrGap;
  readonly call: Call;
  readonly prepared: PreparedCall;
  readonly credentials: readonly Credential[];
  readonly answer: Answer;
  readonly durationMs: number;
}

/** A message of the bus has at most 4 MiB, and one byte may take six bytes in JSON. */
const replyBytesMax = 3_900_000;

/**
 * Turns the upstream's answer into the result that the caller gets. First removes injected
 * credentials that the answer repeats.
 */
export async function shapeResult(
  deps: Pick<Deps, 'jq'> & FileDeps,
  shaping: AnswerToShape,
): Promise<CallResult> {
  const { permit, call, prepared, credentials, answer, durationMs } = shaping;
  const scrubber = createScrubber(secretTextsOf(credentials));
  const headers = shapeHeaders(answer.headers, scrubber);
  // When a download fails, the upstream's error is not kept as a file.
  const isDownload = call.kind === 'action' && prepared.action?.responseType === 'binary';
  const { body, jsonText, ...rest } = shapeBody(answer, {
    contentType: headers['content-type'] ?? '',
    binary: isDownload && answer.status < 300,
    scrubber,
  });
  const keptFile = rest.file
    ? await keepAnswer(deps, shaping, { ...rest.file, headers })
    : undefined;
  if (!rest.file) answer.stream?.destroy();
  const { file, omitted } = keptFile ?? { omitted: rest.omitted };
  const nextParams = nextParamsOf(shaping, headers['link']);
  const failure = await findFailure(deps, shaping, { headers, body, jsonText });
  const result: CallResult = {
    status_code: answer.status,
    headers,
    body,
    ...(rest.hasNumbersAsText ? { numbers_as_text: true } : {}),
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(call.filter === null
      ? {}
      : await applyFilter(deps, call.filter, { jsonText, scrubber, permit })),
    ...(file ? { file } : {}),
    ...(omitted ? { body_omitted: omitted } : {}),
    ...(nextParams ? { next: nextParams } : {}),
    ...(failure ? { failure } : {}),
  };
  return fitIntoReply(result, headers['content-type'] ?? '', answer.body?.length ?? null);
}

/**
 * Stores the body as a file, or returns the reason why there is no file. If storing fails, a read
 * fails, because it can be made again. A non-read has already had its effect, so it succeeds
 * without its body.
 */
async function keepAnswer(
  deps: FileDeps,
  { permit, prepared, credentials, answer }: AnswerToShape,
  { isText, headers }: { isText: boolean; headers: Record<string, string> },
): Promise<Pick<CallResult, 'file'> & { omitted?: CallResult['body_omitted'] }> {
  try {
    return { file: await keepFile(deps, { permit, answer, credentials, headers, isText }) };
  } catch (error) {
    answer.stream?.destroy();
    const { code } = AppError.from(error);
    const isTooLarge = code === 'response_too_large';
    const isRead = !isNonRead(prepared.request.method, permit.nonRead);
    if (isRead && !isTooLarge) throw error;
    const isBroken = code.startsWith('upstream_');
    const reason = isTooLarge ? 'too_large' : isBroken ? 'incomplete' : 'not_stored';
    const contentType = headers['content-type'] ?? '';
    return { omitted: omittedBodyOf(reason, { headers: answer.headers, contentType }) };
  }
}

/**
 * Runs the caller's filter over the result. One output becomes the value itself, and several
 * outputs become a list. When the filter fails, only the filtered value is missing from the result.
 */
export async function applyFilter(
  { jq }: Pick<Deps, 'jq'>,
  filter: string,
  {
    jsonText,
    scrubber,
    permit: { userId: owner, identityId: identity },
  }: {
    jsonText: string | undefined;
    scrubber: Scrubber;
    permit: Pick<PermitOrGap, 'userId' | 'identityId'>;
  },
): Promise<Pick<CallResult, 'filtered_body' | 'filter_error' | 'numbers_as_text'>> {
  if (jsonText === undefined)
    return {
      filter_error:
        'The answer is not JSON, or too large to be filtered: only its beginning was looked at.',
    };
  const filterResult = await jq.run({ filter, input: jsonText, owner, identity });
  if (!filterResult.ok) return { filter_error: scrubber.text(filterResult.message).slice(0, 500) };
  const values: JsonValue[] = [];
  let inexactCount = 0;
  for (const output of filterResult.outputs) {
    const parsedOutput = parseJson(output);
    if (parsedOutput === undefined)
      return { filter_error: 'The filter makes values that are nested too deeply.' };
    inexactCount += parsedOutput.inexactCount;
    values.push(scrubber.json(parsedOutput.value));
  }
  return {
    filtered_body: values.length === 1 ? (values[0] ?? null) : values,
    ...(inexactCount > 0 ? { numbers_as_text: true } : {}),
  };
}

function nextParamsOf(
  { call, prepared, answer, credentials }: AnswerToShape,
  link: string | undefined,
): CallResult['next'] {
  if (call.kind !== 'action' || prepared.action === undefined) return undefined;
  const injections = credentials.map(({ injection }) => injection);
  const injected = replacedNamesOf(injections, 'query');
  const params = prepared.action.params.filter(
    ({ wireName }) => !injected.has(wireName.toLowerCase()),
  );
  return nextPageParamsOf(link, { params, given: call.params, url: answer.url });
}

export function fitIntoReply(
  result: CallResult,
  contentType: string,
  size: number | null,
): CallResult {
  if ((size ?? 0) < 500_000 || Buffer.byteLength(JSON.stringify(result)) < replyBytesMax)
    return result;
  const omittedBody = {
    reason: 'too_large' as const,
    content_type: contentType.slice(0, 200),
    size,
  };
  return { ...result, body: null, body_omitted: omittedBody };
}
