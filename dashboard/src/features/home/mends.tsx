import { A } from '@solidjs/router';
import { For, Show } from 'solid-js';

import { Icon } from '../../ui/icon.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Rows } from './home-section.tsx';
import type { Mend } from './mend-view.ts';

const shownMax = 8;
const linkClass =
  'inline-flex min-h-11 shrink-0 items-center rounded-lg border border-line-strong px-3 text-sm font-semibold hover:bg-sunken';

/** What this person has to put right before calls work again. */
export function MendList(props: { mends: readonly Mend[] }) {
  return (
    <>
      <Rows>
        <For each={props.mends.slice(0, shownMax)}>
          {(mend) => (
            <li class="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-3">
              <Icon name="alert" class="size-5 shrink-0 self-start text-medium" />
              <p class="min-w-48 grow basis-0 leading-snug">
                {mend.before}{' '}
                <strong class="font-semibold">
                  <VisibleText text={mend.name} />
                </strong>{' '}
                {mend.after}
              </p>
              <Show
                when={mend.link.isExternal}
                fallback={
                  <A href={mend.link.href} class={linkClass}>
                    {mend.link.label}
                  </A>
                }
              >
                <a rel="external" href={mend.link.href} class={linkClass}>
                  {mend.link.label}
                </a>
              </Show>
            </li>
          )}
        </For>
      </Rows>
      <Show when={props.mends.length > shownMax}>
        <p class="px-1 pt-2 text-sm text-ink-soft">And {props.mends.length - shownMax} more.</p>
      </Show>
    </>
  );
}
