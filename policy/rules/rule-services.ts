import type { Deadline } from '#bus';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { Deps, Owner } from '../deps.ts';

/**
 * Which services a rule can concern: those of one user or, for a rule on the org, those of all
 * members.
 */
export interface RuleTarget {
  readonly owner: Owner;
  readonly isForOrg: boolean;
}

/**
 * Lists the services that the user above the rule's identity can call. For a rule on the whole org,
 * lists the services of all members.
 */
export async function* listRuleServices(
  registry: Deps['registry'],
  { owner, isForOrg }: RuleTarget,
  deadline: Deadline,
): AsyncIterable<ServiceRecord> {
  for (const whose of isForOrg ? (['callable', 'others'] as const) : (['callable'] as const)) {
    let afterId: string | null = null;
    do {
      const page: ConnectedPage = await registry.listConnected(
        { ...owner, whose, after: afterId },
        deadline,
      );
      yield* page.services;
      afterId = page.next;
    } while (afterId !== null);
  }
}

type ConnectedPage = Awaited<ReturnType<Deps['registry']['listConnected']>>;
