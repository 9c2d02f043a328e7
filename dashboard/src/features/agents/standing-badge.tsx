import { Show } from 'solid-js';

import { VisibleText } from '../../ui/visible-text.tsx';
import type { Standing } from './agent-view.ts';

const looks = {
  active: { word: 'Active', class: 'bg-accent-soft text-accent' },
  paused: { word: 'Paused', class: 'bg-medium-soft text-medium' },
  expired: { word: 'Ended', class: 'bg-sunken text-ink-soft' },
  revoked: { word: 'Revoked', class: 'bg-high-soft text-high' },
} as const;

export function StandingBadge(props: { standing: Standing }) {
  return (
    <span
      class={`inline-block rounded-full px-2.5 py-0.5 text-sm font-semibold whitespace-nowrap ${looks[props.standing.state].class}`}
    >
      {looks[props.standing.state].word}
      <Show when={props.standing.because}>
        {(name) => (
          <span class="font-normal">
            {' '}
            with <VisibleText text={name()} />
          </span>
        )}
      </Show>
    </span>
  );
}
