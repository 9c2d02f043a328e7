import { useQuery } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import { ButtonLink } from '../../ui/button.tsx';
import { profileQuery } from '../profile/profile.queries.ts';

/**
 * Links for a person who has decided a call of the notice board. For most people it is the first
 * decision.
 */
export function AfterSampleCall(props: { isPinned: boolean }) {
  const profile = useQuery(() => profileQuery());
  return (
    <div class="flex flex-wrap gap-2">
      <Show when={props.isPinned}>
        <ButtonLink rel="" href="/sample">
          Look at the board
        </ButtonLink>
      </Show>
      <Show when={profile.data?.checklist === 'open'}>
        <ButtonLink rel="" href="/">
          Go on with the first steps
        </ButtonLink>
      </Show>
    </div>
  );
}
