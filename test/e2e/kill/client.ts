import { createCaller, createCallerWithKey } from '../../support/http.ts';
import type { Caller } from '../../support/http.ts';

/** The answers that a client has received and may rely on, whatever is killed later. */
export interface Ledger {
  /**
   * The ids of the approvals whose calls were answered with 202, by the number in the body of the
   * call.
   */
  readonly raised: Map<number, string>;
  /** The ids of the approvals for which the decision to allow was answered with 200. */
  readonly allowed: Set<string>;
  /** Descriptions of answers that no client may get, even when a process is killed. */
  readonly oddAnswers: string[];
}

export interface Actors {
  readonly url: string;
  readonly agentKey: string;
  readonly cookie: string;
  readonly targetUrl: string;
}

let lastNumber = 0;

/**
 * Makes calls that need an approval, and allows them, in several concurrent loops, until the signal
 * aborts the loops.
 */
export async function runClient(
  actors: Actors,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<void> {
  const bot = createCallerWithKey(actors.url, actors.agentKey);
  const user = createCaller(actors.url, { cookie: actors.cookie, origin: actors.url });
  const loops = [raiseApproval, raiseApproval, allowApproval, allowApproval].map(async (step) => {
    while (!signal.aborted) {
      try {
        await step({ bot, user }, actors.targetUrl, ledger);
      } catch (thrown) {
        // The process was killed during the request, so its outcome is unknown.
        if (!(thrown instanceof TypeError)) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  });
  await Promise.all(loops);
}

interface People {
  readonly bot: Caller;
  readonly user: Caller;
}

async function raiseApproval({ bot }: People, target: string, ledger: Ledger): Promise<void> {
  lastNumber += 1;
  const number = lastNumber;
  const reply = await bot.post('/v1/actions/call', {
    service: 'http',
    method: 'POST',
    url: target,
    body: { number },
    secrets: [{ name: 'target', in: 'header', key: 'authorization', prefix: 'Bearer ' }],
  });
  if (reply.status === 202) ledger.raised.set(number, reply.body.approval_id);
  else noteOddAnswer(ledger, 'raise', reply);
}

/**
 * Allows an approval that is still open. Two loops may choose the same approval; the second loop
 * then gets the error `already_resolved`.
 */
async function allowApproval({ user }: People, _target: string, ledger: Ledger): Promise<void> {
  const openApprovalId = [...ledger.raised.values()].find((id) => !ledger.allowed.has(id));
  if (openApprovalId === undefined)
    return void (await new Promise((resolve) => setTimeout(resolve, 10)));
  const reply = await user.post(`/v1/approvals/${openApprovalId}/resolve`, { resolution: 'allow' });
  if (reply.status === 200 || reply.body.error === 'already_resolved')
    ledger.allowed.add(openApprovalId);
  else noteOddAnswer(ledger, 'allow', reply);
}

function noteOddAnswer(
  ledger: Ledger,
  step: string,
  { status, body }: Awaited<ReturnType<Caller['get']>>,
) {
  // A component may answer `unavailable` while the servers that it needs are being killed.
  if (body.error !== 'unavailable')
    ledger.oddAnswers.push(`${step}: ${status} ${JSON.stringify(body)}`);
}

/** All items of a list, from all its pages. */
// oxlint-disable-next-line typescript/no-explicit-any -- looked at field by field
export async function listAll(caller: Caller, path: string): Promise<any[]> {
  const items = [];
  let cursor = '';
  do {
    const { status, body } = await caller.get(`${path}?limit=200${cursor}`);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    items.push(...body.items);
    cursor = body.next_cursor === null ? '' : `&cursor=${encodeURIComponent(body.next_cursor)}`;
  } while (cursor !== '');
  return items;
}
