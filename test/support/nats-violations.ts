import { PermissionViolationError } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';

/** The subjects that the server refused to a connection while `attempt` ran. */
export async function violationsOf(
  nats: NatsConnection,
  attempt: () => unknown,
): Promise<Set<string>> {
  const refusedSubjects = new Set<string>();
  const status = nats.status();
  const reading = (async () => {
    for await (const event of status) {
      if (event.type === 'error' && event.error instanceof PermissionViolationError) {
        refusedSubjects.add(event.error.subject);
      }
    }
  })();
  await attempt();
  await nats.flush();
  // The server reports a violation before it answers the flush, but the client passes the report on
  // slightly later.
  await new Promise((resolve) => setTimeout(resolve, 50));
  (status as AsyncIterable<unknown> & { stop?(): void }).stop?.();
  await Promise.race([reading, Promise.resolve()]);
  return refusedSubjects;
}
