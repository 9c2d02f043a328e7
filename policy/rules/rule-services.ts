import type { Deadline } from '#bus';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { Deps, Owner } from '../deps.ts';

/** The services that a rule can concern are those of a user, or, for a rule on the org, of all members. */
export interface RuleTarget {
  readonly owner: Owner;
  readonly isForOrg: boolean;
}

/**
 * The services that the user of the rule's identity can call; for a rule on the whole org, the
 * services of all members.
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
