import { For, Show, createUniqueId } from 'solid-js';

import type { TemplateDetail } from '#contracts/http/templates';
import { VisibleText } from '../../ui/visible-text.tsx';
import { shortenSummary } from './connect-view.ts';

type Action = TemplateDetail['actions'][number];

const riskWords = { read: 'reads', write: 'changes', delete: 'deletes' } as const;

/** Shows what agents can do with the connected service, and which actions ask a person first. */
export function WhatItCanDo(props: {
  template: TemplateDetail;
  /** The actions that the agent named in its request. */
  requestedActions: readonly string[];
  readsAtOnce: boolean;
  onReadsAtOnce: (atOnce: boolean) => void;
}) {
  const switchId = createUniqueId();
  const namedActions = () =>
    props.requestedActions.flatMap(
      (name) => props.template.actions.find(({ action }) => action === name) ?? [],
    );
  const unknownNames = () =>
    props.requestedActions.filter(
      (name) => !props.template.actions.some(({ action }) => action === name),
    );
  const readsCount = () => props.template.actions.filter(({ risk }) => risk === 'read').length;
  const othersCount = () => props.template.actions.length - readsCount();

  return (
    <section
      class="grid gap-4 border-t border-line px-4 py-5 sm:px-6"
      aria-labelledby={`${switchId}-title`}
    >
      <h2 id={`${switchId}-title`} class="font-semibold">
        What agents can do with it
      </h2>
      <Show when={props.requestedActions.length > 0}>
        <div>
          <p class="text-sm text-ink-soft">It asks for this:</p>
          <ul class="mt-1 grid gap-1.5">
            <For each={namedActions()}>
              {(action) => <ActionLine action={action} readsAtOnce={props.readsAtOnce} />}
            </For>
            <For each={unknownNames()}>
              {(name) => (
                <li>
                  <VisibleText text={name} />{' '}
                  <span class="text-sm text-ink-soft">
                    {props.template.runtime === 'mcp'
                      ? '(known once it is connected)'
                      : '(there is no such action)'}
                  </span>
                </li>
              )}
            </For>
          </ul>
        </div>
      </Show>
      <label class="flex cursor-pointer items-start gap-3">
        <input
          type="checkbox"
          role="switch"
          class="mt-1 size-5 shrink-0 accent-accent"
          checked={props.readsAtOnce}
          aria-describedby={switchId}
          onChange={(event) => props.onReadsAtOnce(event.currentTarget.checked)}
        />
        <span>
          <span class="block font-medium">Reads run at once</span>
          <span id={switchId} class="block text-sm text-ink-soft">
            {props.readsAtOnce
              ? 'Agents look things up without asking you. Everything else asks you first.'
              : 'Everything asks you first, reading too.'}
          </span>
        </span>
      </label>
      <Show
        when={props.template.actions.length > 0}
        fallback={<p class="text-sm text-ink-soft">Its actions are found when it is connected.</p>}
      >
        <details>
          <summary class="text-sm font-medium text-ink-soft">
            {countSentence(readsCount(), othersCount())}
          </summary>
          <ul class="mt-2 grid gap-1.5 text-sm">
            <For each={props.template.actions}>
              {(action) => <ActionLine action={action} readsAtOnce={props.readsAtOnce} />}
            </For>
          </ul>
        </details>
      </Show>
    </section>
  );
}

/**
 * How many actions read and how many change something, as a sentence. Counts of zero are left out.
 */
export function countSentence(reads: number, others: number): string {
  const all = reads + others === 1 ? 'One action' : `All ${reads + others} actions`;
  if (others === 0) return reads === 1 ? `${all}, which reads` : `${all} only read`;
  if (reads === 0)
    return others === 1 ? `${all}, which changes something` : `${all} change something`;
  const readWord = reads === 1 ? 'reads' : 'read';
  const changeWord = others === 1 ? 'changes' : 'change';
  return `${all}: ${reads} that ${readWord}, ${others} that ${changeWord} something`;
}

function ActionLine(props: { action: Action; readsAtOnce: boolean }) {
  const runsAtOnce = () => props.action.risk === 'read' && props.readsAtOnce;
  return (
    <li class="flex flex-wrap items-baseline justify-between gap-x-3">
      <span class="min-w-0">
        <VisibleText text={shortenSummary(props.action.summary)} />
      </span>
      <span
        class="text-sm whitespace-nowrap"
        classList={{
          'text-ink-soft': runsAtOnce(),
          'text-medium': !runsAtOnce() && props.action.risk !== 'delete',
          'text-high': props.action.risk === 'delete',
        }}
      >
        {riskWords[props.action.risk]} · {runsAtOnce() ? 'runs at once' : 'asks you first'}
      </span>
    </li>
  );
}
