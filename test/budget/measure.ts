import { request } from 'node:http';
import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Sent {
  readonly status: number;
  readonly ms: number;
}

interface Target {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
}

/** Becomes another number each time: a call that is open already is answered without being built again. */
export const runPlaceholder = 'RUN_NUMBER';
let sent = 0;

/** CPU time per time of what the components do whether or not anybody asks them anything. */
export async function measureIdling(): Promise<number> {
  const from = performance.now();
  const before = process.threadCpuUsage();
  await sleep(3_000);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000 / (performance.now() - from);
}

/** Sends bytes that are ready to be sent, so that little of what is measured is the client's own. */
function send({ url, method, headers, agent }: Target, body: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asked = request(
    url,
    { method, agent, headers: { ...headers, 'content-length': String(body.length) } },
    (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0));
      answer.once('error', reject);
    },
  );
  asked.once('error', reject);
  asked.end(body);
  return promise;
}

/**
 * CPU time of this thread, on which all components run, from sending a request to its answer: the
 * least of a few, since timers and collected garbage of others only add.
 */
export async function costOf(
  target: Target,
  text: string,
  { runs, idling }: { runs: number; idling: number },
): Promise<Sent> {
  let least = Infinity;
  let status = 0;
  for (let run = 0; run < runs; run += 1) {
    sent += 1;
    const body = Buffer.from(text.replaceAll(runPlaceholder, String(sent)));
    const from = performance.now();
    const before = process.threadCpuUsage();
    status = await send(target, body);
    const { user, system } = process.threadCpuUsage(before);
    const idled = idling * (performance.now() - from);
    least = Math.min(least, Math.max(0, (user + system) / 1_000 - idled));
  }
  return { status, ms: least };
}
