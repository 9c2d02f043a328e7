import type { DisclosedField } from '#contracts/audit';
import type { Deps } from '../deps.ts';
import { disclosedField } from '../domain/disclose.ts';
import { parsePlainFilter, plainBudget, runPlainFilter } from '../domain/plain-filter.ts';
import { projectionJson } from '../domain/request.ts';
import type { JqResult } from '../jq/pool.ts';
import type { PreparedCall } from './prepare.ts';

interface Disclosing {
  readonly prepared: Pick<PreparedCall, 'action' | 'request'>;
  readonly userId: string;
  /** For all filters of the call together; what has not run by then is shown as not run. */
  readonly timeoutMs: number;
}

/**
 * What the template's filters show of a request, on the approval card and in the audit log alike.
 * Filters that are plain paths are evaluated here, all others by jq on its own threads. Never
 * throws: a filter that fails says so in its own field.
 */
export async function discloseFields(
  { jq, logger }: Pick<Deps, 'jq' | 'logger'>,
  { prepared: { action, request }, userId, timeoutMs }: Disclosing,
): Promise<DisclosedField[]> {
  if (action === undefined || action.disclose.length === 0) return [];
  const budget = plainBudget();
  const results: (JqResult | undefined)[] = action.disclose.map(({ filter }) => {
    const plain = parsePlainFilter(filter);
    const outputs = plain && runPlainFilter(plain, { ...request.projection }, budget);
    return outputs && { ok: true, outputs };
  });
  const left = action.disclose.filter((_, at) => results[at] === undefined);
  if (left.length > 0) {
    try {
      const byJq = await jq.runMany({
        filters: left,
        input: projectionJson(request.projection),
        // In a line of their own: filters that the same user sends must not delay them past the deadline.
        owner: `${userId} disclosure`,
        signal: AbortSignal.timeout(timeoutMs),
      });
      for (const at of results.keys()) results[at] ??= byJq.shift();
    } catch (thrown) {
      logger.error({ err: thrown }, 'filters could not be run');
    }
  }
  return action.disclose.map((entry, at) => disclosedField(entry, results[at] ?? notRun));
}

const notRun: JqResult = { ok: false, reason: 'busy', message: 'The filter did not run.' };
