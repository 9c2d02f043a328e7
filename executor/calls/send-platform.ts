import { deadlineIn } from '#bus';
import { errorCodes } from '#contracts/errors';
import type { Permit } from '#contracts/permit';
import { platformActions, platformKey } from '#contracts/platform';
import type { PlatformActionName } from '#contracts/platform';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { askOwner } from '../platform/ask.ts';
import type { CallFacts } from './facts.ts';
import type { Answer, Sending } from './send.ts';

/** On whose behalf an action of the platform is asked for. */
export interface PlatformCaller {
  readonly principal: string;
  readonly context: CallContext;
}

export function isPlatformCall({ target }: Pick<CallFacts, 'target'>): boolean {
  return target.kind === 'action' && target.template.key === platformKey;
}

/** The permit says what may be done, the principal in whose name the owner does it: they must be of one caller. */
export function requireSameCaller(permit: Permit, principal: Principal): void {
  const isSame =
    principal.orgId === permit.orgId &&
    principal.identityId === permit.identityId &&
    principal.credential.id === permit.credential.id;
  if (isSame) return;
  throw new AppError('unauthenticated', 'The permit is not of the caller that was authenticated.');
}

/**
 * Asks the component that owns the action, and answers as an upstream would: what the owner refuses
 * on purpose is a 4xx with its error as the body. Throws only where an upstream's connection would.
 */
export async function sendToOwner(
  { owners, baseUrl }: Pick<Deps, 'owners' | 'baseUrl'>,
  { facts, prepared, platformCaller, timeoutMs }: Sending,
): Promise<Answer> {
  const name = facts.target.kind === 'action' ? facts.target.action : '';
  if (platformCaller === undefined || !isPlatformAction(name)) {
    throw new AppError('unauthenticated', 'The call is not one of the platform.');
  }
  const { url, projection } = prepared.request;
  const parsed = platformActions[name].params.safeParse(projection.params);
  if (!parsed.success) {
    // What the schema that policy checks cannot say, such as that one of two is needed.
    const message = `The parameters are wrong: ${parsed.error.issues[0]?.message ?? 'see the schema'}.`;
    return answerOf(400, { error: 'invalid_params', message }, url);
  }
  const params = parsed.data;
  const asked = { ...platformCaller, params, baseUrl, deadline: deadlineIn(timeoutMs) };
  try {
    const body = await askOwner[name](owners, asked as never);
    return answerOf(200, body, url);
  } catch (thrown) {
    const { code, message, details } = AppError.from(thrown);
    const { httpStatus } = errorCodes[code];
    if (httpStatus >= 500) throw thrown;
    return answerOf(httpStatus, { error: code, message, ...details }, url);
  }
}

function isPlatformAction(name: string): name is PlatformActionName {
  return Object.hasOwn(platformActions, name);
}

function answerOf(status: number, body: unknown, url: string): Answer {
  const headers = [['content-type', 'application/json']] as const;
  return { status, headers, body: Buffer.from(JSON.stringify(body)), lost: null, url };
}
