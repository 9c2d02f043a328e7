import type { Deadline } from '#bus';
import type { Deps } from '../deps.ts';

/** What the executor takes in one request. */
const namesMax = 20;

export interface ExistingSecret {
  /** As it stands in permission keys: `github_token`, or `org/github_token` for the org's. */
  readonly reference: string;
  readonly allowedHosts: readonly string[];
}

/**
 * Which of these references name a secret that exists for the user, by the reference as it was
 * asked for. The values are not asked for and never come.
 */
export async function findExistingSecrets(
  executor: Deps['executor'],
  { orgId, userId, references }: { orgId: string; userId: string; references: Iterable<string> },
  deadline: Deadline,
): Promise<Map<string, ExistingSecret>> {
  const wanted = [...new Set(references)];
  const existing = new Map<string, ExistingSecret>();
  for (let start = 0; start < wanted.length; start += namesMax) {
    const names = wanted.slice(start, start + namesMax);
    const { secrets } = await executor.describeSecrets({ orgId, userId, names }, deadline);
    for (const { asked, reference, allowedHosts } of secrets) {
      existing.set(asked, { reference, allowedHosts });
    }
  }
  return existing;
}
