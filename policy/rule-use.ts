import type { Database } from '#database';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import { addRuleUses } from './repository/rules.ts';

/** Counts how often rules let something through, and writes it down every ten seconds. */
export interface RuleUse extends AsyncDisposable {
  count(orgId: string, ruleId: string): void;
  /** Writes down what has been counted so far. */
  flush(): Promise<void>;
}

const flushEveryMs = 10_000;
/** More rules than this between two writes are not counted rather than kept. */
const rulesMax = 20_000;

export function startRuleUse({ db, logger }: { db: Database; logger: Logger }): RuleUse {
  let counted = new Map<string, { orgId: string; ruleId: string; uses: number }>();

  const add = (orgId: string, ruleId: string, uses: number) => {
    const entry = counted.get(ruleId);
    if (entry !== undefined) entry.uses += uses;
    else if (counted.size < rulesMax) counted.set(ruleId, { orgId, ruleId, uses });
  };

  const flush = async () => {
    if (counted.size === 0) return;
    const batch = [...counted.values()];
    counted = new Map();
    try {
      await addRuleUses(db, batch);
    } catch (error) {
      for (const { orgId, ruleId, uses } of batch) add(orgId, ruleId, uses);
      logger.warn({ err: error }, 'uses of rules could not be written down yet');
    }
  };
  const flushing = repeat(flushEveryMs, flush);

  return {
    count: (orgId, ruleId) => add(orgId, ruleId, 1),
    flush,
    async [Symbol.asyncDispose]() {
      await flushing[Symbol.asyncDispose]();
      await flush();
    },
  };
}
