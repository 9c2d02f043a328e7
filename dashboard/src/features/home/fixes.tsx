import { A } from '@solidjs/router';
import { For, Show } from 'solid-js';

import { Icon } from '../../ui/icon.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Rows } from './home-section.tsx';
import type { Fix } from './fix-view.ts';

const shownMax = 8;
const linkClass =
  'inline-flex min-h-11 shrink-0 items-center rounded-lg border border-line-strong px-3 text-sm font-semibold hover:bg-sunken';

/** The list of problems that this person has to fix before calls work again. */
export function FixList(props: { fixes: readonly Fix[] }) {
  return (
    <>
      <Rows>
        <For each={props.fixes.slice(0, shownMax)}>
          {(fix) => (
            <li class="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-3">
              <Icon name="alert" class="size-5 shrink-0 self-start text-medium" />
              <p class="min-w-48 grow basis-0 leading-snug">
                {fix.before}{' '}
                <strong class="font-semibold">
                  <VisibleText text={fix.name} />
                </strong>{' '}
                {fix.after}
              </p>
              <Show
                when={fix.link.isExternal}
                fallback={
                  <A href={fix.link.href} class={linkClass}>
                    {fix.link.label}
                  </A>
                }
              >
                <a rel="external" href={fix.link.href} class={linkClass}>
                  {fix.link.label}
                </a>
              </Show>
            </li>
          )}
        </For>
      </Rows>
      <Show when={props.fixes.length > shownMax}>
        <p class="px-1 pt-2 text-sm text-ink-soft">And {props.fixes.length - shownMax} more.</p>
      </Show>
    </>
  );
}
