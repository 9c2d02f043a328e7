import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Access, RouteSpec } from '#contracts/http/define';
import { mayUseRoute } from '#contracts/scopes';
import { AppError } from '#errors';
import type { Caller, Credential } from '../authentication/caller.ts';
import { readCredential } from '../authentication/read-credential.ts';
import type { Deps } from '../deps.ts';
import type { RateLimitResult } from '../limits/rate-limits.ts';
import type { Slot } from '../limits/request-slots.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the body is read, except on public routes. */
    admitted: AdmittedRequest | null;
    /** Set as soon as the caller is authenticated, even if the request is refused afterwards. */
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    readonly spec?: RouteSpec;
  }
}

export interface AdmittedRequest {
  readonly credential: Credential;
  readonly caller: Caller;
  /** The slot that the request occupies. It is released when the response closes, or earlier. */
  readonly slot: Slot;
}

/**
 * Before the body is read, authenticates the request and applies rate limits, the required scope
 * and the limit on open requests.
 */
export function admitCaller(deps: Deps, access: Access) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const credential = readCredential(deps.site(), request);
    const caller = await deps.authenticator.authenticate(credential, request.ip);
    request.caller = caller;
    applyRateLimit(reply, deps.rates.countRequest(caller));
    if (!mayUseRoute(caller.claims, access)) {
      const isForPeople = access === 'user' && caller.claims.kind !== 'user';
      throw new AppError(
        'insufficient_scope',
        isForPeople
          ? 'No agent can do this; its user can, signed in. An agent asks for what it needs with the tool service_auth or POST /v1/requests.'
          : `This needs the scope ${access}; sign in, or use a credential that has it.`,
        { details: { scope: access } },
      );
    }
    const slot = deps.slots.request(caller.claims, reply.raw);
    request.admitted = { credential, caller, slot };
  };
}

/**
 * Counts public requests that have a body, per address and before the body is read. Health checks
 * have no body and therefore are not counted.
 */
export function admitStranger({ rates }: Deps, { body }: RouteSpec) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (body !== undefined) applyRateLimit(reply, rates.countSignIn(request.ip));
  };
}

/** Counts requests to public pages per address. */
export function countPublicRequest({ rates }: Pick<Deps, 'rates'>) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    applyRateLimit(reply, rates.countPublicRequest(request.ip));
  };
}

/** Sets the RateLimit headers, and throws if the quota is used up. */
export function applyRateLimit(reply: FastifyReply, limitResult: RateLimitResult | null): void {
  if (limitResult === null) return;
  void reply.headers(limitResult.headers);
  if (limitResult.refusal !== null) throw limitResult.refusal;
}

/** Charges a large body to the caller's rate limit before the body is processed. */
export function chargeBody({ rates }: Deps, request: FastifyRequest, reply: FastifyReply): void {
  const { admitted, bodyCost } = request;
  if (admitted !== null && bodyCost !== null)
    applyRateLimit(reply, rates.countBody(admitted.caller, bodyCost));
}
