import type { FastifyRequest } from 'fastify';

import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { authenticate } from '../usecases/authenticate.ts';
import type { OauthDeps } from './deps.ts';

/** Both names that the gateway gives the session cookie; the first on https, the other on loopback. */
const cookieNames = ['__Host-gateway_session', 'gateway_session'];

/** The session token in a request's cookies; undefined when nobody is signed in. */
export function sessionTokenOf(
  request: FastifyRequest,
  { baseUrl }: OauthDeps,
): string | undefined {
  const name = cookieNames[baseUrl.startsWith('https:') ? 0 : 1];
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const separator = part.indexOf('=');
    if (separator > 0 && part.slice(0, separator).trim() === name) {
      return part.slice(separator + 1).trim();
    }
  }
  return undefined;
}

/** Who is signed in in this browser; null for nobody, or for a session that has ended. */
export async function callerOf(
  deps: OauthDeps,
  request: FastifyRequest,
): Promise<Principal | null> {
  const token = sessionTokenOf(request, deps);
  if (token === undefined) return null;
  try {
    return (await authenticate(deps, { kind: 'session', token })).claims;
  } catch (thrown) {
    const isSignedOut = thrown instanceof AppError && thrown.code === 'unauthenticated';
    if (isSignedOut) return null;
    throw thrown;
  }
}

/** What the gateway says about the request: it overwrites these headers. */
export function contextOf(request: FastifyRequest): CallContext {
  const first = (name: string) => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    requestId: (first('x-request-id') ?? request.id).slice(0, 100),
    traceId: null,
    ip: first('x-forwarded-for')?.slice(0, 64) ?? null,
  };
}
