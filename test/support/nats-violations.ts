import { PermissionViolationError } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';

/** Subjects that the server refused to a connection while `attempt` ran. */
export async function violationsOf(
  nats: NatsConnection,
  attempt: () => unknown,
): Promise<Set<string>> {
  const refused = new Set<string>();
  const status = nats.status();
  const reading = (async () => {
    for await (const event of status) {
      if (event.type === 'error' && event.error instanceof PermissionViolationError) {
        refused.add(event.error.subject);
      }
    }
  })();
  await attempt();
  await nats.flush();
  // What the server says about it comes before the answer to a flush, but is told a turn later.
  await new Promise((resolve) => setTimeout(resolve, 50));
  (status as AsyncIterable<unknown> & { stop?(): void }).stop?.();
  await Promise.race([reading, Promise.resolve()]);
  return refused;
}
