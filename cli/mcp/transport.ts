import type { IncomingMessage } from 'node:http';

import { mcpEndpoint } from '../address.ts';
import { parseChallenge } from '../challenge.ts';
import type { Access } from '../credential/access.ts';
import { openHttp, readBody } from './http.ts';
import { frameHeaders } from './frame.ts';
import type { Frame } from './frame.ts';

const goodbyeMs = 2_000;
const maxRefusalBytes = 1_048_576;
const versionHeader = 'mcp-protocol-version';
const sessionHeader = 'mcp-session-id';

/**
 * MCP's Streamable HTTP, seen from a client: the credential, the session and the headers that go
 * with each request. It knows nothing of what frames mean.
 */
export interface Transport extends AsyncDisposable {
  /** The answer to a frame, or the last refusal where trying again did not help. */
  readonly post: (frame: Frame, signal: AbortSignal) => Promise<IncomingMessage>;
  /** The stream of what the gateway says by itself, or the rest of one that broke. */
  readonly listen: (
    from: { readonly lastEventId: string | undefined },
    signal: AbortSignal,
  ) => Promise<IncomingMessage>;
  /** What the answer to `initialize` settles. */
  readonly settle: (session: { id?: string | undefined; version: string | undefined }) => void;
}

export function openTransport(access: Access): Transport {
  const http = openHttp(mcpEndpoint(access.gateway));
  const session: { id?: string | undefined; version?: string | undefined } = {};

  const sessionHeaders = () => ({
    ...(session.id !== undefined && { [sessionHeader]: session.id }),
    ...(session.version !== undefined && { [versionHeader]: session.version }),
  });

  /** Tries again, each way once: with another token, and without a session that has ended. */
  async function send(
    attempt: (headers: Record<string, string>) => Promise<IncomingMessage>,
  ): Promise<IncomingMessage> {
    let hasOtherToken = false;
    for (;;) {
      const token = access.token();
      const withSession = sessionHeaders();
      const answer = await attempt({ ...withSession, authorization: `Bearer ${token}` });
      if (!hasOtherToken && (await findOtherToken(access, { answer, token }))) {
        hasOtherToken = true;
        await discard(answer);
      } else if (answer.statusCode === 404 && withSession[sessionHeader] !== undefined) {
        // The gateway also answers clients without a session (docs/reference/calling.md#mcp).
        if (session.id === withSession[sessionHeader]) session.id = undefined;
        await discard(answer);
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
            ...frameHeaders(frame),
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
    settle: ({ id, version }) => {
      session.id = id;
      session.version = version;
    },
    [Symbol.asyncDispose]: async () => {
      if (session.id !== undefined) {
        const headers = { ...sessionHeaders(), authorization: `Bearer ${access.token()}` };
        const signal = AbortSignal.timeout(goodbyeMs);
        // A session that is not ended runs out by itself.
        await http.send({ method: 'DELETE', headers, signal }).then(discard, () => undefined);
      }
      http[Symbol.dispose]();
    },
  };
}

/** `initialize` begins a session; a frame that names its own revision has none. */
function headersFor(frame: Frame, headers: Record<string, string>): Record<string, string> {
  if (frame.method !== 'initialize' && frame.ownVersion === undefined) return headers;
  const { [sessionHeader]: _session, [versionHeader]: _version, ...others } = headers;
  return others;
}

/** Whether a refused token has a successor: by refreshing, or because a person logged in again. */
async function findOtherToken(
  access: Access,
  { answer, token }: { answer: IncomingMessage; token: string },
): Promise<boolean> {
  try {
    if (answer.statusCode === 401) return (await access.renew(token)) !== undefined;
    const isScopeMissing = missingScope(answer) !== undefined;
    return isScopeMissing && (await access.reread(token)) !== undefined;
  } catch (error) {
    answer.destroy(); // nobody will read it
    throw error;
  }
}

/** The scope that a 403 asks for (RFC 6750 section 3.1). */
export function missingScope(answer: IncomingMessage): string | undefined {
  if (answer.statusCode !== 403) return undefined;
  const { error, scope } = parseChallenge(answer.headers['www-authenticate']);
  return error === 'insufficient_scope' ? (scope ?? '') : undefined;
}

/** Reads what nobody wants, so that the connection can be used again. */
async function discard(answer: IncomingMessage): Promise<void> {
  await readBody(answer, maxRefusalBytes).catch(() => answer.destroy());
}
