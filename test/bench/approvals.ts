import type { Caller } from '../support/http.ts';
import { successfulBodyOf } from '../support/world.ts';
import { percentilesOf } from './load-in-turn.ts';

/**
 * Measures calls that a person allows at once: the milliseconds from the call to its result. Makes
 * the calls one after the other. The person decides as soon as the call is suspended, and the agent
 * asks for the result as soon as the call is allowed.
 */
export async function measureApprovals(
  agent: Caller,
  person: Caller,
  count: number,
): Promise<{ p50: number; p99: number }> {
  const durations: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const params = { name: `item ${at}`, note: 'Bought for the workshop on Thursday.' };
    const startedAt = performance.now();
    const suspendedCall = successfulBodyOf(
      await agent.post('/v1/actions/call', { service: 'bench', action: 'create_item', params }),
    );
    const id: string = suspendedCall.approval_id;
    successfulBodyOf(await person.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
    await waitForResult(agent, id);
    durations.push(performance.now() - startedAt);
  }
  return percentilesOf(durations);
}

async function waitForResult(agent: Caller, approvalId: string): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const { status, body } = await agent.post('/v1/actions/call', { approval_id: approvalId });
    if (status === 200 && body.status === 'called') return;
    if (status !== 202 && body.error !== 'execution_in_progress') {
      throw new Error(`the approved call ended with ${status} ${JSON.stringify(body)}`);
    }
  }
  throw new Error('the approved call has no result');
}
