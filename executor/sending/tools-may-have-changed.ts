import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../mcp/domain/message.ts';
import type { RpcResponse } from '../mcp/domain/message.ts';
import type { SendOutcome } from './sending.ts';

/**
 * The JSON-RPC codes for an unknown method, for wrong params (which include an unknown tool), and
 * for an unknown protocol revision.
 */
const changeErrorCodes: readonly unknown[] = [-32_601, -32_602, -32_022];
/** SDK 1.x reports an unknown method and wrong params with this text in a tool's result. */
const changeErrorPattern = /^MCP error -3260[12]\b/;
/**
 * A server answers with these statuses when it has no MCP endpoint at its address any more, or when
 * it uses another protocol revision.
 */
const changeStatuses: readonly number[] = [400, 404, 405, 406, 410];

/**
 * Whether the outcome of a call suggests that the server's tools or its protocol revision have
 * changed since they were last discovered. If they have not, this only costs one more discovery.
 */
export function toolsMayHaveChanged(outcome: SendOutcome): boolean {
  if (outcome.kind === 'unknown') return false;
  if (outcome.kind === 'answered') {
    const { message, status } = outcome.answer;
    return message === undefined ? changeStatuses.includes(status) : isRefusal(message);
  }
  // The server's answer prevented a session from being opened.
  const { code, details } = outcome.error;
  const status = details['status_code'];
  return code === 'upstream_incomplete' && (status === undefined || isChangeStatus(status));
}

function isRefusal({ result, error }: RpcResponse): boolean {
  if (error !== undefined) return changeErrorCodes.includes(error.code);
  const { isError, content } = result;
  return isError === true && Array.isArray(content) && content.some(isRefusalText);
}

function isRefusalText(block: JsonValue): boolean {
  return (
    isObject(block) && typeof block['text'] === 'string' && changeErrorPattern.test(block['text'])
  );
}

const isChangeStatus = (status: unknown) =>
  typeof status === 'number' && (status < 300 || changeStatuses.includes(status));
