import type { Deadline } from '#bus';
import type { Call } from '#contracts/call';
import type { ShownRequest } from '#contracts/http/approvals';
import { checkFilter } from '../calls/check-filter.ts';
import { prepareCall } from '../calls/prepare.ts';
import { showCredentials } from '../calls/show-credentials.ts';
import type { Deps } from '../deps.ts';
import { parseAddress } from '../domain/base-url.ts';
import { showRequest } from '../domain/redact.ts';

/** The redacted request of a dry run: built, shown, and forgotten. */
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
  const facts = kind === 'gap' ? deps.verifyGap(gapOrPermit) : deps.verifyPermit(gapOrPermit);
  await checkFilter(deps, call.filter, facts);
  const prepared = await prepareCall(deps, { facts, call }, deadline);
  // Of a denied call there is a gap, and nobody is asked: it is told that alone, and nothing of addresses.
  const isDenied = kind === 'gap' && !isAskedAbout;
  if (!isDenied) deps.egress.check(parseAddress(prepared.request.url).href);
  const credentials = await showCredentials(deps, facts);
  const showing = { fromAction: call.kind === 'action', credentials, hidesText: !isAskedAbout };
  return { request: showRequest(prepared, showing) };
}
