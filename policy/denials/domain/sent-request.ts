import type { CompiledCompose } from '#contracts/composed-mail';
import type { CompiledAction } from '#contracts/template';
import type { HttpMethod, JsonValue } from '#contracts/vocabulary';
import { membersOf } from './member-names.ts';
import type { ReadQuery } from './sent-query.ts';

/** A request as it will reach its host; undefined parts are unknown to policy. */
export interface SentRequest {
  readonly method: HttpMethod;
  /** The normalised path from the root of the host. */
  readonly path: string;
  /** Undefined at a replay, where only path and method are known. */
  readonly query: ReadQuery['query'] | undefined;
  readonly otherQuery?: ReadQuery['otherQuery'];
  /**
   * Undefined at a replay, and when servers may read the body in ways that policy does not know.
   */
  readonly body: JsonValue | undefined;
  /**
   * Set when the executor composes a message from the mail fields of `body`, which are then what
   * the message says.
   */
  readonly compose?: CompiledCompose | undefined;
  /**
   * The tool that policy's own call to an MCP server names. Without it, a request to an MCP server
   * may be for any tool.
   */
  readonly tool?: string | undefined;
}

/**
 * The request as an operation reads it. The body is unknown when one of both holds a message that
 * the executor composes and the other does not, or holds it elsewhere: in a raw call the fields
 * beside a message say nothing about the recipients in it.
 */
export function readBy({ compose }: CompiledAction, request: SentRequest): SentRequest {
  if (compose === undefined && request.compose === undefined) return request;
  return isMessageAt(compose, request) ? request : { ...request, body: undefined };
}

/** Whether the message that the operation takes is certainly the one that the executor composes. */
function isMessageAt(
  compose: CompiledCompose | undefined,
  { compose: composed, body, query, otherQuery }: SentRequest,
): boolean {
  if (compose === undefined || composed === undefined) return false;
  const place = ({ into, encoding }: CompiledCompose) => `${into.join('.')} ${encoding}`;
  if (place(compose) !== place(composed)) return false;
  // A member of that name may be another message, which some servers would take instead.
  const name = compose.into.at(-1) ?? '';
  return [body, query, otherQuery].every((part) => membersOf(part, name)?.length === 0);
}
