import type { Deadline } from '#bus';
import type { Call, CallOptions } from '#contracts/call';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { auditEntryOf } from '../calls/audit-entry.ts';
import { checkFilter } from '../calls/check-filter.ts';
import { loadCredentials } from '../calls/credentials.ts';
import { discloseFields } from '../calls/disclose.ts';
import { requireLivePermit } from '../calls/facts.ts';
import { prepareCall } from '../calls/prepare.ts';
import { runNonRead } from '../calls/run-non-read.ts';
import { runRead } from '../calls/run-read.ts';
import type { Executed } from '../calls/run.ts';
import { requireSameCaller } from '../calls/send-platform.ts';
import { sendingTimeMs } from '../calls/send.ts';
import type { Deps } from '../deps.ts';
import { isNonRead } from '../domain/retry.ts';

/** Less than a permit lives: a filter that is slow costs its own field, never the call. */
const discloseMs = 2_000;

/** Runs one permitted call. Everything that can be refused is refused before anything is recorded or sent. */
export async function executeCall(
  deps: Deps,
  {
    permit: signedPermit,
    call,
    options,
    context,
    principal,
    mayWait,
  }: {
    permit: string;
    call: Call;
    options: CallOptions;
    context: CallContext;
    principal?: string | undefined;
    mayWait?: boolean | undefined;
  },
  deadline: Deadline,
): Promise<Executed> {
  const permit = deps.verifyPermit(signedPermit);
  using slot = deps.slots.take(permit);
  // Effects are waited for, since their outcome is recorded; a read is worth nothing without its client.
  using read = permit.nonRead ? null : deps.disconnects.follow(permit.jti);
  deps.auditShare.assertRoom(permit);
  if (permit.approvalId !== null || permit.executionId !== null) {
    throw new AppError(
      'unauthenticated',
      'A permit of a replay runs only the frozen call it was given for.',
    );
  }
  const platformCaller = principal === undefined ? undefined : { principal, context };
  if (platformCaller) requireSameCaller(permit, deps.readPrincipal(platformCaller.principal));
  const prepared = await prepareCall(deps, { facts: permit, call }, deadline);
  const { request } = prepared;
  // Before the credentials are read, so that none grows old while the call waits.
  await slot.enterUpstream(request.url, mayWait === true ? options.timeoutMs : 0);
  const [credentials, disclosed] = await Promise.all([
    loadCredentials(deps, { facts: permit, action: prepared.action, url: request.url }, deadline),
    discloseFields(deps, { prepared, userId: permit.userId, timeoutMs: discloseMs }),
    checkFilter(deps, call.filter, permit),
  ]);
  requireLivePermit(permit);

  const entry = auditEntryOf(permit, { prepared, context, disclosed });
  const timeoutMs = sendingTimeMs(options.timeoutMs, deadline);
  const facts = permit;
  const run = { permit, facts, call, prepared, credentials, entry, timeoutMs, platformCaller };
  const isWrite = isNonRead(request.method, permit.nonRead);
  // Intent and outcome, or the outcome alone.
  deps.auditShare.take(permit, entry, isWrite ? 2 : 1);
  // Awaited here: the slot is held until the call has ended.
  const executed = isWrite
    ? runNonRead(deps, run)
    : runRead(deps, { ...run, signal: read?.signal });
  return await executed;
}
