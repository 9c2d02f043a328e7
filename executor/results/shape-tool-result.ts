import type { CallResult } from '#contracts/call';
import { toolFilesMax } from '#contracts/call';
import type { JsonValue } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { createScrubber } from '../answers/domain/scrub.ts';
import type { Scrubber } from '../answers/domain/scrub.ts';
import { isTextual, omittedBodyOf, shapeBody, shapeHeaders } from '../answers/domain/shape-body.ts';
import { toToolBody, listToolBytes } from '../mcp/domain/tool-result.ts';
import type { BytesOutcome, ToolBytes } from '../mcp/domain/tool-result.ts';
import type { RpcResponse } from '../mcp/domain/message.ts';
import { findToolFailure } from './find-failure.ts';
import { keepFile } from './keep-file.ts';
import type { FileDeps } from './keep-file.ts';
import { applyFilter, fitIntoReply } from './shape-result.ts';
import type { AnswerToShape } from './shape-result.ts';
import { secretTextsOf } from '../request/domain/inject.ts';

type ShapeDeps = Pick<Deps, 'jq' | 'inlineBytesMax' | 'storedBytesMax' | 'logger'> & FileDeps;
type ShapedResult = Pick<CallResult, 'body' | 'file' | 'files' | 'body_omitted'> & {
  /** The body as JSON text, for the caller's filter. */
  jsonText?: string | undefined;
  /** The whole answer, even if it is too large for `body`. */
  whole?: JsonValue;
};

/**
 * Turns an MCP server's answer into the result that the caller gets: the tool's result becomes the
 * body, and a protocol error becomes `{error}`. Images and other bytes become files. A result that
 * is too large for a message becomes a file too. An answer that is not JSON-RPC is shown like the
 * answer of any other API.
 */
export async function shapeToolResult(
  deps: ShapeDeps,
  shaping: AnswerToShape,
): Promise<CallResult> {
  const { permit, call, credentials, answer, durationMs } = shaping;
  const scrubber = createScrubber(secretTextsOf(credentials));
  const { 'mcp-session-id': _session, ...headers } = shapeHeaders(answer.headers, scrubber);
  const contentType = headers['content-type'] ?? '';
  const { message } = answer;
  const {
    jsonText,
    whole = null,
    ...shaped
  } = message === undefined
    ? shapeOtherAnswer(answer, { contentType, scrubber })
    : await shapeMessage(deps, shaping, { message, scrubber });
  const failure = findToolFailure(shaping, { headers, body: whole });
  const result: CallResult = {
    status_code: answer.status,
    headers,
    ...shaped,
    ...(failure ? { failure } : {}),
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(call.filter === null
      ? {}
      : await applyFilter(deps, call.filter, { jsonText, scrubber, permit })),
  };
  return fitIntoReply(result, contentType, answer.body?.length ?? null);
}

/** Shows an answer that is not JSON-RPC. If it is binary, it is not kept as a file. */
function shapeOtherAnswer(
  answer: AnswerToShape['answer'],
  { contentType, scrubber }: { contentType: string; scrubber: Scrubber },
): ShapedResult {
  const shaped = shapeBody(answer, { contentType, binary: false, scrubber });
  const { body, jsonText, file } = shaped;
  const omittedFile = file
    ? omittedBodyOf('not_stored', { headers: answer.headers, contentType })
    : shaped.omitted;
  return { body, jsonText, whole: body, ...(omittedFile ? { body_omitted: omittedFile } : {}) };
}

async function shapeMessage(
  deps: ShapeDeps,
  shaping: AnswerToShape,
  { message, scrubber }: { message: RpcResponse; scrubber: Scrubber },
): Promise<ShapedResult> {
  const files: NonNullable<CallResult['files']> = [];
  const bytesOutcomes = new Map<string, BytesOutcome>();
  for (const bytes of listToolBytes(message)) {
    const { at } = bytes;
    const keptFile =
      files.length < toolFilesMax ? await keepBytes(deps, shaping, bytes) : 'too_many';
    bytesOutcomes.set(at, typeof keptFile === 'string' ? keptFile : 'file');
    if (typeof keptFile !== 'string') files.push({ at, ...keptFile });
  }
  const body = scrubber.json(toToolBody(message, bytesOutcomes));
  const filesPart = files.length === 0 ? {} : { files };
  const jsonText = JSON.stringify(body);
  const size = Buffer.byteLength(jsonText);
  if (size <= deps.inlineBytesMax) return { body, jsonText, whole: body, ...filesPart };

  const mediaType = 'application/json';
  const name = `${shaping.prepared.tool?.name ?? 'result'}.json`;
  const file = await keepBlock(deps, shaping, { bytes: Buffer.from(jsonText), mediaType, name });
  if (typeof file !== 'string') return { body: null, whole: body, file, ...filesPart };
  const omittedBlock = { reason: file, content_type: mediaType, size };
  return { body: null, whole: body, body_omitted: omittedBlock, ...filesPart };
}

function keepBytes(
  deps: ShapeDeps,
  shaping: AnswerToShape,
  { base64, mediaType, name }: ToolBytes,
) {
  return keepBlock(deps, shaping, { bytes: Buffer.from(base64, 'base64'), mediaType, name });
}

/**
 * Stores the bytes as a file, or returns the reason why there is no file. The tool has been called
 * already, so the call succeeds even without its bytes.
 */
async function keepBlock(
  deps: ShapeDeps,
  { permit, credentials, answer: { url } }: AnswerToShape,
  { bytes, mediaType, name }: { bytes: Buffer; mediaType: string; name: string },
): Promise<Awaited<ReturnType<typeof keepFile>> | 'too_large' | 'not_stored'> {
  if (bytes.length > deps.storedBytesMax) return 'too_large';
  const scrubber = createScrubber(secretTextsOf(credentials));
  const quotedName = scrubber.text(name).replaceAll(/["\\]/g, '_');
  const headers = {
    'content-type': scrubber.text(mediaType),
    'content-disposition': `attachment; filename="${quotedName}"`,
  };
  const isText = mediaType !== '' && isTextual(mediaType);
  const fileSource = { permit, answer: { body: bytes, url }, credentials, headers, isText };
  try {
    return await keepFile(deps, fileSource);
  } catch (error) {
    const { code } = AppError.from(error);
    deps.logger.warn({ err: error }, 'bytes of a tool could not be kept');
    return code === 'response_too_large' ? 'too_large' : 'not_stored';
  }
}
