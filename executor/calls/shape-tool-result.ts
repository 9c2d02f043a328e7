import type { CallResult } from '#contracts/call';
import type { Deps } from '../deps.ts';
import { createScrubber } from '../domain/scrub.ts';
import { omission, shapeBody, shapeHeaders } from '../domain/shape-body.ts';
import { toolBody } from '../domain/tool-result.ts';
import { applyFilter, fitReply } from './shape-result.ts';
import type { Shaping } from './shape-result.ts';

/**
 * The answer of an MCP server in the public form of a call: its result as the body, and an error of
 * its protocol as `{error}`. What is no answer of the protocol is shown as any API's answer would be.
 */
export async function shapeToolResult(
  deps: Pick<Deps, 'jq' | 'inlineBytesMax'>,
  { facts, call, credentials, answer, durationMs }: Shaping,
): Promise<CallResult> {
  const scrubber = createScrubber(credentials.map(({ value }) => value));
  const { 'mcp-session-id': _session, ...headers } = shapeHeaders(answer.headers, scrubber);
  const contentType = headers['content-type'] ?? '';
  const { message } = answer;
  const shaped =
    message === undefined
      ? shapeBody(answer, { contentType, binary: false, scrubber })
      : shapeMessage(scrubber.json(toolBody(message)), deps.inlineBytesMax);
  const { body, jsonText, file } = shaped;
  // Bytes that are no answer of the protocol are nothing to keep.
  const omitted = file
    ? omission('not_stored', { headers: answer.headers, contentType })
    : shaped.omitted;
  const result: CallResult = {
    status_code: answer.status,
    headers,
    body,
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(call.filter === null
      ? {}
      : await applyFilter(deps, call.filter, { jsonText, scrubber, owner: facts.userId })),
    ...(omitted ? { body_omitted: omitted } : {}),
  };
  return fitReply(result, contentType, answer.body?.length ?? null);
}

function shapeMessage(body: CallResult['body'], bytesMax: number): ReturnType<typeof shapeBody> {
  const jsonText = JSON.stringify(body);
  const size = Buffer.byteLength(jsonText);
  if (size <= bytesMax) return { body, jsonText };
  const omitted = { reason: 'too_large', content_type: 'application/json', size } as const;
  return { body: null, omitted };
}
