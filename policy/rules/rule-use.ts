import type { Database } from '#database';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import { addRuleUses } from './rule.sql.ts';

/** Counts how often each rule allowed or refused a call, and stores the counts every ten seconds. */
export interface RuleUse extends AsyncDisposable {
  count(orgId: string, ruleId: string): void;
  /** Stores the uses that were counted since the last write. */
  flush(): Promise<void>;
}

const flushEveryMs = 10_000;
/**
 * The most rules whose uses are counted between two writes. Uses of further rules are not counted.
 */
const countedRulesMax = 20_000;

export function startRuleUse({ db, logger }: { db: Database; logger: Logger }): RuleUse {
  let useCounts = new Map<string, { orgId: string; ruleId: string; uses: number }>();

  const addUse = (orgId: string, ruleId: string, uses: number) => {
    const useCount = useCounts.get(ruleId);
    if (useCount !== undefined) useCount.uses += uses;
    else if (useCounts.size < countedRulesMax) useCounts.set(ruleId, { orgId, ruleId, uses });
  };

  const flushUses = async () => {
    if (useCounts.size === 0) return;
    const flushedCounts = [...useCounts.values()];
    useCounts = new Map();
    try {
      await addRuleUses(db, flushedCounts);
    } catch (error) {
      for (const { orgId, ruleId, uses } of flushedCounts) addUse(orgId, ruleId, uses);
      logger.warn({ err: error }, 'uses of rules could not be written down yet');
    }
  };
  const flushTimer = repeat(flushEveryMs, flushUses);

  return {
    count: (orgId, ruleId) => addUse(orgId, ruleId, 1),
    flush: flushUses,
    async [Symbol.asyncDispose]() {
      await flushTimer[Symbol.asyncDispose]();
      await flushUses();
    },
  };
}
