import type { StateTone } from './service-view.ts';

const toneClasses: Record<StateTone, string> = {
  good: 'bg-accent-soft text-accent',
  warning: 'bg-medium-soft text-medium',
  bad: 'bg-high-soft text-high',
  off: 'bg-sunken text-ink-soft',
};

/** A state in a few words. The colour adds no information to the words. */
export function Badge(props: { state: { readonly tone: StateTone; readonly words: string } }) {
  return (
    <span
      class={`inline-flex rounded-full px-2.5 py-0.5 text-sm font-semibold whitespace-nowrap ${toneClasses[props.state.tone]}`}
    >
      {props.state.words}
    </span>
  );
}
