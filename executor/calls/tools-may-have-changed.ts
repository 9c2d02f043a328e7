import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../mcp/message.ts';
import type { RpcResponse } from '../mcp/message.ts';
import type { SentOnce } from './send.ts';

/** No such method, wrong params (which is also: no such tool), no such revision of the protocol. */
const errorCodes: readonly unknown[] = [-32_601, -32_602, -32_022];
/** How the SDK 1.x says the first two of them, as the result of the tool. */
const errorText = /^MCP error -3260[12]\b/;
/** Where an endpoint of MCP is no more, or speaks another revision. */
const statuses: readonly number[] = [400, 404, 405, 406, 410];

/**
 * Whether what became of a call shows that its server's tools, or the revision it speaks, are not
 * what was found when it was last asked. TestIdentity wrong costs one more look at the list.
 */
export function toolsMayHaveChanged(sent: SentOnce): boolean {
  if (sent.kind === 'unknown') return false;
  if (sent.kind === 'answered') {
    const { message, status } = sent.answer;
    return message === undefined ? statuses.includes(status) : isRefusal(message);
  }
  // No session could be opened, because of what the server answers.
  const { code, details } = sent.error;
  const status = details['status_code'];
  return code === 'upstream_incomplete' && (status === undefined || isOneOf(status));
}

function isRefusal({ result, error }: RpcResponse): boolean {
  if (error !== undefined) return errorCodes.includes(error.code);
  const { isError, content } = result;
  return isError === true && Array.isArray(content) && content.some(saysRefused);
}

function saysRefused(block: JsonValue): boolean {
  return isObject(block) && typeof block['text'] === 'string' && errorText.test(block['text']);
}

const isOneOf = (status: unknown) =>
  typeof status === 'number' && (status < 300 || statuses.includes(status));
