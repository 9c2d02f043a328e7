import type { IncomingMessage } from 'node:http';

import { mcpEndpoint } from '../address.ts';
import { parseChallenge } from '../challenge.ts';
import type { Access } from '../credential/access.ts';
import { openHttp, readBody } from './http.ts';
import { headersOfFrame } from './frame.ts';
import type { Frame } from './frame.ts';

const endSessionTimeoutMs = 2_000;
const refusalBytesMax = 1_048_576;
const versionHeader = 'mcp-protocol-version';
const sessionHeader = 'mcp-session-id';

/**
 * The client side of MCP's Streamable HTTP transport. It adds the credential, the session and the
 * other headers to each request, and does not interpret frames.
 */
export interface Transport extends AsyncDisposable {
  /** Sends a frame; resolves with the answer, or with the last refusal if no attempt succeeded. */
  readonly post: (frame: Frame, signal: AbortSignal) => Promise<IncomingMessage>;
  /** Opens the stream of messages that the gateway sends by itself, or resumes one that broke. */
  readonly listen: (
    from: { readonly lastEventId: string | undefined },
    signal: AbortSignal,
  ) => Promise<IncomingMessage>;
  /** Stores the session from the answer to `initialize`. All later requests use it. */
  readonly setSession: (session: { id?: string | undefined; version: string | undefined }) => void;
}

export function openTransport(access: Access): Transport {
  const http = openHttp(mcpEndpoint(access.gateway));
  const session: { id?: string | undefined; version?: string | undefined } = {};

  const sessionHeaders = () => ({
    ...(session.id !== undefined && { [sessionHeader]: session.id }),
    ...(session.version !== undefined && { [versionHeader]: session.version }),
  });

  /**
   * Sends a request. After a refusal it tries again with another token, and after the end of the
   * session without a session; each at most once.
   */
  async function send(
    sendWithHeaders: (headers: Record<string, string>) => Promise<IncomingMessage>,
  ): Promise<IncomingMessage> {
    let wasTokenReplaced = false;
    for (;;) {
      const token = access.token();
      const usedSession = sessionHeaders();
      const answer = await sendWithHeaders({ ...usedSession, authorization: `Bearer ${token}` });
      if (!wasTokenReplaced && (await canUseOtherToken(access, { answer, token }))) {
        wasTokenReplaced = true;
        await discardBody(answer);
      } else if (answer.statusCode === 404 && usedSession[sessionHeader] !== undefined) {
        // Continues without a session: the gateway also answers clients that have none
        // (docs/reference/calling.md#mcp).
        if (session.id === usedSession[sessionHeader]) session.id = undefined;
        await discardBody(answer);
      } else {
        return answer;
      }
    }
  }

  return {
    post: (frame, signal) =>
      send((headers) =>
        http.send({
          method: 'POST',
          signal,
          body: frame.bytes,
          headers: {
            ...headersFor(frame, headers),
            ...headersOfFrame(frame),
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
            'content-length': frame.bytes.length,
          },
        }),
      ),
    listen: ({ lastEventId }, signal) =>
      send((headers) =>
        http.send({
          method: 'GET',
          signal,
          headers: {
            ...headers,
            accept: 'text/event-stream',
            ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
          },
        }),
      ),
    setSession: ({ id, version }) => {
      session.id = id;
      session.version = version;
    },
    [Symbol.asyncDispose]: async () => {
      if (session.id !== undefined) {
        const headers = { ...sessionHeaders(), authorization: `Bearer ${access.token()}` };
        const signal = AbortSignal.timeout(endSessionTimeoutMs);
        // If the session cannot be ended, it expires by itself.
        await http.send({ method: 'DELETE', headers, signal }).then(discardBody, () => undefined);
      }
      http[Symbol.dispose]();
    },
  };
}

/**
 * `initialize` creates the session, so it is sent without one. A frame that contains its own
 * version belongs to a revision that has no sessions.
 */
function headersFor(frame: Frame, headers: Record<string, string>): Record<string, string> {
  if (frame.method !== 'initialize' && frame.ownVersion === undefined) return headers;
  const { [sessionHeader]: _session, [versionHeader]: _version, ...others } = headers;
  return others;
}

/** Whether there is another token to try: a refreshed one, or the token of a new login. */
async function canUseOtherToken(
  access: Access,
  { answer, token }: { answer: IncomingMessage; token: string },
): Promise<boolean> {
  try {
    if (answer.statusCode === 401) return (await access.renewToken(token)) !== undefined;
    const isScopeMissing = missingScopeOf(answer) !== undefined;
    return isScopeMissing && (await access.rereadToken(token)) !== undefined;
  } catch (error) {
    answer.destroy(); // the body of this refusal is not needed, because the request is sent again
    throw error;
  }
}

/** The scope that is missing according to a 403 answer (RFC 6750 section 3.1). */
export function missingScopeOf(answer: IncomingMessage): string | undefined {
  if (answer.statusCode !== 403) return undefined;
  const { error, scope } = parseChallenge(answer.headers['www-authenticate']);
  return error === 'insufficient_scope' ? (scope ?? '') : undefined;
}

/** Reads an unused body to its end, so that the connection can be used again. */
async function discardBody(answer: IncomingMessage): Promise<void> {
  await readBody(answer, refusalBytesMax).catch(() => answer.destroy());
}
