import { queryOptions } from '@tanstack/solid-query';

import type { Rule } from '#contracts/http/rules';
import { isApiError, request } from '../../../api/client.ts';

/** A rule as the page reads it. An earlier release sends neither words nor a summary of its use. */
export type PlantedRule = Rule & {
  readonly description?: string | undefined;
  readonly used?: { readonly count: number; readonly last_at: string | null } | null | undefined;
};

interface RulePage {
  readonly items: PlantedRule[];
}

const rulesKey = (approvalId: string) => ['rules', 'of approval', approvalId] as const;

/** The rules that the decision on an approval stored; there is one for each of at most 20 keys. */
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
 * Deletes all rules of the approval, and returns them as they were last, with what they had
 * covered. A rule that somebody else has just deleted is no error.
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
