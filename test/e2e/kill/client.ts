import { createCaller, withKey } from '../../support/http.ts';
import type { Caller } from '../../support/http.ts';

/** What a client was told, and so may rely on. */
export interface Ledger {
  /** Approval id by the number in the call's body; only those answered with 202. */
  readonly raised: Map<number, string>;
  /** Approvals whose allowance was answered with 200. */
  readonly allowed: Set<string>;
  /** Answers that no client should get, whatever dies. */
  readonly odd: string[];
}

export interface Actors {
  readonly url: string;
  readonly agentKey: string;
  readonly cookie: string;
  readonly target: string;
}

let lastNumber = 0;

/** Raises calls and allows them, several at once, until told to stop or until nobody answers. */
export async function work(actors: Actors, ledger: Ledger, signal: AbortSignal): Promise<void> {
  const bot = withKey(actors.url, actors.agentKey);
  const user = createCaller(actors.url, { cookie: actors.cookie, origin: actors.url });
  const loops = [raise, raise, allow, allow].map(async (step) => {
    while (!signal.aborted) {
      try {
        await step({ bot, user }, actors.target, ledger);
      } catch (thrown) {
        // The process was killed under the request: nobody knows what became of it.
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

async function raise({ bot }: People, target: string, ledger: Ledger): Promise<void> {
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
  else note(ledger, 'raise', reply);
}

/** Takes one that is not allowed yet; two loops may take the same, and one of them comes too late. */
async function allow({ user }: People, _target: string, ledger: Ledger): Promise<void> {
  const open = [...ledger.raised.values()].find((id) => !ledger.allowed.has(id));
  if (open === undefined) return void (await new Promise((resolve) => setTimeout(resolve, 10)));
  const reply = await user.post(`/v1/approvals/${open}/resolve`, { resolution: 'allow' });
  if (reply.status === 200 || reply.body.error === 'already_resolved') ledger.allowed.add(open);
  else note(ledger, 'allow', reply);
}

function note(ledger: Ledger, step: string, { status, body }: Awaited<ReturnType<Caller['get']>>) {
  // While its servers die with it, a process may still say that it cannot serve.
  if (body.error !== 'unavailable') ledger.odd.push(`${step}: ${status} ${JSON.stringify(body)}`);
}

/** All items of a list, page by page. */
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
