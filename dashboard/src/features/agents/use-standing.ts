import { useMutation, useQueryClient } from '@tanstack/solid-query';

import type { Identity } from '#contracts/http/identities';
import { announce } from '../../ui/announcer.tsx';
import { agentKeys, changeStanding } from './agents.queries.ts';

/**
 * Returns a function that reloads everything that this feature shows. It is called after any change
 * of an agent.
 */
export function useRefreshAgents(): () => Promise<void> {
  const queryClient = useQueryClient();
  return () => queryClient.invalidateQueries({ queryKey: agentKeys.all });
}

/** Pauses or resumes one agent. */
export function useStanding() {
  const refresh = useRefreshAgents();
  return useMutation(() => ({
    mutationFn: changeStanding,
    onSuccess: ({ name, status }: Identity) =>
      announce(status === 'archived' ? `${name} is paused` : `${name} acts again`),
    onSettled: refresh,
  }));
}

/** Pauses or resumes several agents, one after the other. It also continues after an error. */
export function useStandingOfAll() {
  const refresh = useRefreshAgents();
  return useMutation(() => ({
    mutationFn: async ({ ids, verb }: { ids: readonly string[]; verb: 'archive' | 'restore' }) => {
      const failures: unknown[] = [];
      for (const id of ids) {
        try {
          // oxlint-disable-next-line no-await-in-loop -- a hundred at once would exceed the rate limit
          await changeStanding({ id, verb });
        } catch (error) {
          failures.push(error);
        }
      }
      const [first] = failures;
      if (first !== undefined) {
        const word = verb === 'archive' ? 'paused' : 'resumed';
        const reason = first instanceof Error ? first.message : '';
        throw new Error(`${failures.length} of ${ids.length} could not be ${word}. ${reason}`);
      }
    },
    onSuccess: (_, { verb }) =>
      announce(verb === 'archive' ? 'All your agents are paused' : 'Your agents act again'),
    onSettled: refresh,
  }));
}
