import type { Deadline } from '#bus';
import type { Call } from '#contracts/call';
import type { ShownRequest } from '#contracts/http/approvals';
import { checkFilter } from '../jq/check-filter.ts';
import { prepareCall } from '../request/prepare-call.ts';
import { showCredentials } from './show-credentials.ts';
import type { Deps } from '../deps.ts';
import { parseAddress } from '../request/domain/base-url.ts';
import { showRequest } from '../previews/domain/redact.ts';

/** Builds the request of a dry run and returns it redacted. Nothing is stored or sent. */
export async function showDryRequest(
  deps: Deps,
  {
    gapOrPermit,
    kind,
    call,
    isAskedAbout,
  }: { gapOrPermit: string; kind: 'gap' | 'permit'; call: Call; isAskedAbout: boolean },
  deadline: Deadline,
): Promise<{ request: ShownRequest }> {
  const permit = kind === 'gap' ? deps.verifyGap(gapOrPermit) : deps.verifyPermit(gapOrPermit);
  await checkFilter(deps, call.filter, permit);
  const preparedCall = await prepareCall(deps, { permit, call }, deadline);
  // A permission gap without an approval means that the call is denied. Its caller learns only of
  // the denial, so the address is not checked.
  const isDenied = kind === 'gap' && !isAskedAbout;
  if (!isDenied) deps.egress.check(parseAddress(preparedCall.request.url).href);
  const credentials = await showCredentials(deps, permit);
  const showing = { fromAction: call.kind === 'action', credentials, hidesText: !isAskedAbout };
  return { request: showRequest(preparedCall, showing) };
}
