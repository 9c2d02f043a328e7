import type { Deadline } from '#bus';
import type { Call, CallOptions } from '#contracts/call';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { auditEntryOf } from './audit-entry.ts';
import { checkFilter } from '../jq/check-filter.ts';
import { awaitInTime } from './in-time.ts';
import { noteRefused } from './note-credentials.ts';
import { loadCredentials } from '../sending/load-credentials.ts';
import { discloseFields } from '../previews/disclose-fields.ts';
import { requireLivePermit } from '../request/permit.ts';
import { prepareCall } from '../request/prepare-call.ts';
import { runNonRead } from './run-non-read.ts';
import { runRead } from './run-read.ts';
import { takeAuditShare } from './run.ts';
import type { RunOutcome } from './run.ts';
import { requireSameCaller } from '../sending/send-platform.ts';
import { sendingTimeMs } from '../sending/send.ts';
import type { Deps } from '../deps.ts';

/**
 * The time for disclosing fields, shorter than the life of a permit. A filter that is too slow
 * loses its own field, and the permit does not expire meanwhile.
 */
const discloseMsMax = 2_000;

/** Runs one permitted call. All checks come before anything is recorded or sent. */
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
): Promise<RunOutcome> {
  const permit = deps.verifyPermit(signedPermit);
  using _inHand = deps.callsInHand.hold(permit.jti);
  using slot = deps.slots.take(permit);
  // A non-read runs to its end even when its client disconnects, because its outcome is recorded. A
  // read is stopped.
  using followedRead = permit.nonRead ? null : deps.disconnects.follow(permit.jti);
  deps.auditShare.assertRoom(permit);
  if (permit.approvalId !== null || permit.executionId !== null) {
    throw new AppError(
      'unauthenticated',
      'A permit of a replay runs only the frozen call it was given for.',
    );
  }
  const platformCaller = principal === undefined ? undefined : { principal, context };
  if (platformCaller) requireSameCaller(permit, deps.readPrincipal(platformCaller.principal));
  const preparedCall = await awaitInTime(prepareCall(deps, { permit, call }, deadline), deadline);
  const { request } = preparedCall;
  // The call waits for its slot before its credentials are read. In the other order an access token
  // could expire during the wait.
  await slot.enterUpstream(request.url, mayWait === true ? options.timeoutMs : 0);
  const undisclosed = auditEntryOf(permit, { prepared: preparedCall, context, disclosed: [] });
  const onRefused = noteRefused(deps, { permit, entry: undisclosed });
  const [credentials, disclosed] = await awaitInTime(
    Promise.all([
      loadCredentials(deps, { permit, ...preparedCall, url: request.url, onRefused }, deadline),
      discloseFields(deps, {
        prepared: preparedCall,
        permit,
        timeoutMs: discloseMsMax,
      }),
      checkFilter(deps, call.filter, permit),
    ]),
    deadline,
  );
  requireLivePermit(permit);

  const auditEntry = { ...undisclosed, disclosed };
  const timeoutMs = sendingTimeMs(options.timeoutMs, deadline);
  const run = {
    permit,
    call,
    prepared: preparedCall,
    credentials,
    entry: auditEntry,
    timeoutMs,
    platformCaller,
  };
  const { isWrite } = takeAuditShare(deps, run);
  // `await` keeps `slot` from being disposed before the call has ended.
  const executed = isWrite
    ? runNonRead(deps, run, deadline)
    : runRead(deps, { ...run, signal: followedRead?.signal });
  return await executed;
}
