import type { FastifyRequest } from 'fastify';

import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { authenticate } from '../authentication/authenticate.ts';
import type { OauthDeps } from './deps.ts';

/** The names of the session cookie: the first name under https, the second on loopback. */
const cookieNames = ['__Host-gateway_session', 'gateway_session'];

/** The session token in a request's cookies; undefined without a session cookie. */
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

/** The user who is signed in in this browser; null without an open session. */
export async function callerOf(
  deps: OauthDeps,
  request: FastifyRequest,
): Promise<Principal | null> {
  const token = sessionTokenOf(request, deps);
  if (token === undefined) return null;
  try {
    return (await authenticate(deps, { kind: 'session', token })).claims;
  } catch (error) {
    const isSignedOut = error instanceof AppError && error.code === 'unauthenticated';
    if (isSignedOut) return null;
    throw error;
  }
}

/** Reads the context of a request from headers that the gateway overwrites. */
export function contextOf(request: FastifyRequest): CallContext {
  const firstHeaderOf = (name: string) => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    requestId: (firstHeaderOf('x-request-id') ?? request.id).slice(0, 100),
    traceId: null,
    ip: firstHeaderOf('x-forwarded-for')?.slice(0, 64) ?? null,
  };
}
