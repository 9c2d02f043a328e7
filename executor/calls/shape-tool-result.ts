import type { CallResult } from '#contracts/call';
import { toolFilesMax } from '#contracts/call';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { createScrubber } from '../domain/scrub.ts';
import type { Scrubber } from '../domain/scrub.ts';
import { isTextual, omission, shapeBody, shapeHeaders } from '../domain/shape-body.ts';
import { toolBody, toolBytes } from '../domain/tool-result.ts';
import type { BytesFate, ToolBytes } from '../domain/tool-result.ts';
import type { RpcResponse } from '../mcp/message.ts';
import { keepFile } from './keep-file.ts';
import type { FileDeps } from './keep-file.ts';
import { applyFilter, fitReply } from './shape-result.ts';
import type { Shaping } from './shape-result.ts';

type ShapeDeps = Pick<Deps, 'jq' | 'inlineBytesMax' | 'storedBytesMax' | 'logger'> & FileDeps;
type Shaped = Pick<CallResult, 'body' | 'file' | 'files' | 'body_omitted'> & {
  /** What a filter may read. */
  jsonText?: string | undefined;
};

/**
 * The answer of an MCP server in the public form of a call: its result as the body, and an error of
 * its protocol as `{error}`. Bytes in it become files, as does a result that is too large for a
 * message. What is no answer of the protocol is shown as any API's answer would be.
 */
export async function shapeToolResult(deps: ShapeDeps, shaping: Shaping): Promise<CallResult> {
  const { facts, call, credentials, answer, durationMs } = shaping;
  const scrubber = createScrubber(credentials.map(({ value }) => value));
  const { 'mcp-session-id': _session, ...headers } = shapeHeaders(answer.headers, scrubber);
  const contentType = headers['content-type'] ?? '';
  const { message } = answer;
  const { jsonText, ...shaped } =
    message === undefined
      ? shapeOther(answer, { contentType, scrubber })
      : await shapeMessage(deps, shaping, { message, scrubber });
  const result: CallResult = {
    status_code: answer.status,
    headers,
    ...shaped,
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(call.filter === null
      ? {}
      : await applyFilter(deps, call.filter, { jsonText, scrubber, owner: facts.userId })),
  };
  return fitReply(result, contentType, answer.body?.length ?? null);
}

/** Bytes that are no answer of the protocol are nothing to keep. */
function shapeOther(
  answer: Shaping['answer'],
  { contentType, scrubber }: { contentType: string; scrubber: Scrubber },
): Shaped {
  const shaped = shapeBody(answer, { contentType, binary: false, scrubber });
  const { body, jsonText, file } = shaped;
  const omitted = file
    ? omission('not_stored', { headers: answer.headers, contentType })
    : shaped.omitted;
  return { body, jsonText, ...(omitted ? { body_omitted: omitted } : {}) };
}

async function shapeMessage(
  deps: ShapeDeps,
  shaping: Shaping,
  { message, scrubber }: { message: RpcResponse; scrubber: Scrubber },
): Promise<Shaped> {
  const files: NonNullable<CallResult['files']> = [];
  const fates = new Map<string, BytesFate>();
  for (const bytes of toolBytes(message)) {
    const { at } = bytes;
    const kept = files.length < toolFilesMax ? await keepBytes(deps, shaping, bytes) : 'too_many';
    fates.set(at, typeof kept === 'string' ? kept : 'file');
    if (typeof kept !== 'string') files.push({ at, ...kept });
  }
  const body = scrubber.json(toolBody(message, fates));
  const withFiles = files.length === 0 ? {} : { files };
  const jsonText = JSON.stringify(body);
  const size = Buffer.byteLength(jsonText);
  if (size <= deps.inlineBytesMax) return { body, jsonText, ...withFiles };

  const mediaType = 'application/json';
  const name = `${shaping.prepared.tool?.name ?? 'result'}.json`;
  const file = await keep(deps, shaping, { bytes: Buffer.from(jsonText), mediaType, name });
  if (typeof file !== 'string') return { body: null, file, ...withFiles };
  const omitted = { reason: file, content_type: mediaType, size };
  return { body: null, body_omitted: omitted, ...withFiles };
}

function keepBytes(deps: ShapeDeps, shaping: Shaping, { base64, mediaType, name }: ToolBytes) {
  return keep(deps, shaping, { bytes: Buffer.from(base64, 'base64'), mediaType, name });
}

/** The file, or why there is none: the tool has been called, and bytes are all that is missing. */
async function keep(
  deps: ShapeDeps,
  { facts, credentials, answer: { url } }: Shaping,
  { bytes, mediaType, name }: { bytes: Buffer; mediaType: string; name: string },
): Promise<Awaited<ReturnType<typeof keepFile>> | 'too_large' | 'not_stored'> {
  if (bytes.length > deps.storedBytesMax) return 'too_large';
  const scrubber = createScrubber(credentials.map(({ value }) => value));
  const quoted = scrubber.text(name).replaceAll(/["\\]/g, '_');
  const headers = {
    'content-type': scrubber.text(mediaType),
    'content-disposition': `attachment; filename="${quoted}"`,
  };
  const isText = mediaType !== '' && isTextual(mediaType);
  const kept = { facts, answer: { body: bytes, url }, credentials, headers, isText };
  try {
    return await keepFile(deps, kept);
  } catch (thrown) {
    const { code } = AppError.from(thrown);
    deps.logger.warn({ err: thrown }, 'bytes of a tool could not be kept');
    return code === 'response_too_large' ? 'too_large' : 'not_stored';
  }
}
