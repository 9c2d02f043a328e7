import type { DisclosedField } from '#contracts/audit';
import type { Deps } from '../deps.ts';
import { toDisclosedField } from './domain/disclosed-field.ts';
import { parsePlainFilter, createPlainBudget, runPlainFilter } from '../jq/domain/plain-filter.ts';
import { toProjectionJson } from '../request/domain/built-request.ts';
import type { JqResult } from '../jq/pool.ts';
import type { PermitOrGap } from '../request/permit.ts';
import type { PreparedCall } from '../request/prepare-call.ts';

interface DisclosureInput {
  readonly prepared: Pick<PreparedCall, 'action' | 'request'>;
  readonly permit: Pick<PermitOrGap, 'userId' | 'identityId'>;
  /**
   * The time for all filters of the call together. The field of a filter that has not run by then
   * is marked as not run.
   */
  readonly timeoutMs: number;
}

/**
 * Runs the template's `disclose` filters over a request, for the approval card and the audit log.
 * Plain paths are evaluated in this thread, all other filters by jq on its own threads. Never
 * throws: when a filter fails, its field contains the error.
 */
export async function discloseFields(
  { jq, logger }: Pick<Deps, 'jq' | 'logger'>,
  { prepared: { action, request }, permit, timeoutMs }: DisclosureInput,
): Promise<DisclosedField[]> {
  if (action === undefined || action.disclose.length === 0) return [];
  const budget = createPlainBudget();
  const results: (JqResult | undefined)[] = action.disclose.map(({ filter }) => {
    const plainFilter = parsePlainFilter(filter);
    const outputs = plainFilter && runPlainFilter(plainFilter, { ...request.projection }, budget);
    return outputs && { ok: true, outputs };
  });
  const undisclosedEntries = action.disclose.filter((_, at) => results[at] === undefined);
  if (undisclosedEntries.length > 0) {
    try {
      const jqResults = await jq.runMany({
        filters: undisclosedEntries,
        input: toProjectionJson(request.projection),
        // Disclosures count as a separate owner in the pool. If the user were the owner, they would
        // wait behind the user's own filters and could miss the deadline.
        owner: `${permit.userId} disclosure`,
        identity: permit.identityId,
        signal: AbortSignal.timeout(timeoutMs),
      });
      for (const index of results.keys()) results[index] ??= jqResults.shift();
    } catch (error) {
      logger.error({ err: error }, 'filters could not be run');
    }
  }
  return action.disclose.map((entry, at) => toDisclosedField(entry, results[at] ?? notRunResult));
}

const notRunResult: JqResult = { ok: false, reason: 'busy', message: 'The filter did not run.' };
