import { deadlineIn } from '#bus';
import type { Bus, Deadline } from '#bus';
import { AppError } from '#errors';
import { auditStreamCheck, busCheck, clockComparison } from '#readiness';
import type { Check } from '#readiness';
import type { ComponentClients } from '../deps.ts';

/**
 * How often a component is asked before it counts as absent. Each attempt waits one second for the
 * answer, which is short for a component under load.
 */
const attemptsMax = 3;
const attemptMsMax = 1_000;

/**
 * Checks whether a call would work: the components that it passes through answer, and the stream
 * that records it has room.
 */
export function createCallChecks(
  bus: Bus,
  { auth, registry, policy, executor }: ComponentClients,
): Check[] {
  // The gateway compares its clock with the components. It cannot ask Postgres, but a component
  // that accepts requests has compared its own clock with the one of Postgres.
  const clockCheck = clockComparison();
  return [
    busCheck(bus),
    createAnswerCheck('auth', (deadline) => auth.ping({}, deadline)),
    createAnswerCheck('registry', (deadline) => registry.ping({}, deadline)),
    createAnswerCheck('policy', (deadline) =>
      clockCheck.compare(async () => (await policy.ping({}, deadline)).time),
    ),
    createAnswerCheck('executor', (deadline) => executor.ping({}, deadline)),
    auditStreamCheck(bus),
    clockCheck.check({ isOwn: false }),
  ];
}

/**
 * Passes if a replica of the component answers at all, even if the answer is that it has no room.
 */
function createAnswerCheck(name: string, ask: (deadline: Deadline) => Promise<unknown>): Check {
  return {
    name,
    isOwn: false,
    async run() {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await ask(deadlineIn(attemptMsMax));
          return;
        } catch (thrown) {
          const { code, details } = AppError.from(thrown);
          const isUnanswered = code === 'unavailable' && details['lost'] !== undefined;
          if (!isUnanswered) return;
          if (details['lost'] === false || attempt === attemptsMax) throw thrown;
        }
      }
    },
  };
}
