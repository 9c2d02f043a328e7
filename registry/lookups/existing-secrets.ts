import type { Deadline } from '#bus';
import type { Deps } from '../deps.ts';

/** What the executor takes in one request. */
const namesMax = 20;

/**
 * Which of these references name a secret that exists for the user, with how each stands in
 * permission keys. The values are not asked for and never come.
 */
export async function findExistingSecrets(
  executor: Deps['executor'],
  { orgId, userId, references }: { orgId: string; userId: string; references: Iterable<string> },
  deadline: Deadline,
): Promise<Map<string, string>> {
  const wanted = [...new Set(references)];
  const existing = new Map<string, string>();
  for (let start = 0; start < wanted.length; start += namesMax) {
    const names = wanted.slice(start, start + namesMax);
    const { secrets } = await executor.describeSecrets({ orgId, userId, names }, deadline);
    for (const { asked, reference } of secrets) existing.set(asked, reference);
  }
  return existing;
}
