import { queryOptions, useQuery } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import { isApiError, request } from '../../api/client.ts';
import { Chip } from '../../ui/chip.tsx';

const sampleKey = 'sample';

/**
 * Whether the sample service (the notice board) runs beside this gateway
 * (docs/operating.md#the-sample-service).
 */
export const hasSampleQuery = () =>
  queryOptions({
    queryKey: ['template', sampleKey, 'exists'],
    queryFn: async ({ signal }) => {
      try {
        await request(`/v1/templates/${sampleKey}?tier=global`, { signal });
        return true;
      } catch (error) {
        if (isApiError(error, 'not_found')) return false;
        throw error;
      }
    },
    staleTime: 'static',
  });

/**
 * Marks a call of the notice board. A record contains only the key of a template, and anybody can
 * give their own template the same key. So nothing is marked if the notice board does not run.
 */
export function SampleMark(props: { template: string | null }) {
  const isSampleKey = () => props.template === sampleKey;
  const hasSample = useQuery(() => ({ ...hasSampleQuery(), enabled: isSampleKey() }));
  return (
    <Show when={isSampleKey() && hasSample.data === true}>
      <Chip>Sample</Chip>
    </Show>
  );
}
