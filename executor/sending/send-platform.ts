import { deadlineIn } from '#bus';
import { errorCodes } from '#contracts/errors';
import type { Permit } from '#contracts/permit';
import { platformActions, platformKey } from '#contracts/platform';
import type { PlatformActionName } from '#contracts/platform';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { askOwner } from './ask-owner.ts';
import type { PermitOrGap } from '../request/permit.ts';
import type { Answer, Sending } from './sending.ts';

export function isPlatformCall({ target }: Pick<PermitOrGap, 'target'>): boolean {
  return target.kind === 'action' && target.template.key === platformKey;
}

/**
 * Throws unless the permit and the principal belong to the same caller. The permit decides what may
 * be done, and the principal decides for whom.
 */
export function requireSameCaller(permit: Permit, principal: Principal): void {
  const isSame =
    principal.orgId === permit.orgId &&
    principal.identityId === permit.identityId &&
    principal.credential.id === permit.credential.id;
  if (isSame) return;
  throw new AppError('unauthenticated', 'The permit is not of the caller that was authenticated.');
}

/**
 * Calls the component that owns a platform action, and returns an answer like an upstream's. An
 * error that the component returns becomes a 4xx with the error as its body. Throws only when the
 * component cannot be reached.
 */
export async function sendToOwner(
  { owners, baseUrl }: Pick<Deps, 'owners' | 'baseUrl'>,
  { permit, prepared, platformCaller, timeoutMs }: Sending,
): Promise<Answer> {
  const name = permit.target.kind === 'action' ? permit.target.action : '';
  if (platformCaller === undefined || !isPlatformAction(name)) {
    throw new AppError('unauthenticated', 'The call is not one of the platform.');
  }
  const { url, projection } = prepared.request;
  const parseResult = platformActions[name].params.safeParse(projection.params);
  if (!parseResult.success) {
    // Some rules, such as "one of two params is required", are not in the schema that policy
    // checked.
    const message = `The parameters are wrong: ${parseResult.error.issues[0]?.message ?? 'see the schema'}.`;
    return jsonAnswerOf(400, { error: 'invalid_params', message }, url);
  }
  const params = parseResult.data;
  const platformCall = { ...platformCaller, params, baseUrl, deadline: deadlineIn(timeoutMs) };
  try {
    const body = await askOwner[name](owners, platformCall as never);
    return jsonAnswerOf(200, body, url);
  } catch (error) {
    const { code, message, details } = AppError.from(error);
    const { httpStatus } = errorCodes[code];
    if (httpStatus >= 500) throw error;
    return jsonAnswerOf(httpStatus, { error: code, message, ...details }, url);
  }
}

function isPlatformAction(name: string): name is PlatformActionName {
  return Object.hasOwn(platformActions, name);
}

function jsonAnswerOf(status: number, body: unknown, url: string): Answer {
  const headers = [['content-type', 'application/json']] as const;
  return { status, headers, body: Buffer.from(JSON.stringify(body)), lost: null, url };
}
