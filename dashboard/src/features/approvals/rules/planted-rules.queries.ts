import { queryOptions } from '@tanstack/solid-query';

import type { Rule } from '#contracts/http/rules';
import { isApiError, request } from '../../../api/client.ts';

/**
 * A rule as the API returns it. A gateway of an earlier release sends neither `description` nor
 * `used`.
 */
export type PlantedRule = Rule & {
  readonly description?: string | undefined;
  readonly used?: { readonly count: number; readonly last_at: string | null } | null | undefined;
};

interface RulePage {
  readonly items: PlantedRule[];
}

const rulesKey = (approvalId: string) => ['rules', 'of approval', approvalId] as const;

/**
 * The rules that were created by the decision on an approval. There is one rule for each of at most
 * 20 keys.
 */
export const plantedRulesQuery = (approvalId: string) =>
  queryOptions({
    queryKey: rulesKey(approvalId),
    queryFn: ({ signal }) => listPlantedRules(approvalId, signal),
  });

async function listPlantedRules(approvalId: string, signal?: AbortSignal): Promise<PlantedRule[]> {
  const path = `/v1/rules?approval_id=${encodeURIComponent(approvalId)}&limit=100` as const;
  return (await request<RulePage>(path, signal === undefined ? {} : { signal })).items;
}

/**
 * Deletes all rules of the approval. Returns them with their last use counts. It is no error if
 * somebody else has just deleted one of them.
 */
export async function stopPlantedRules(approvalId: string): Promise<PlantedRule[]> {
  const rules = await listPlantedRules(approvalId);
  await Promise.all(rules.map(({ id }) => deleteRule(id)));
  return rules;
}

async function deleteRule(id: string): Promise<void> {
  try {
    await request(`/v1/rules/${encodeURIComponent(id)}`, { method: 'DELETE' });
  } catch (error) {
    if (!isApiError(error, 'not_found')) throw error;
  }
}
