import { useQuery } from '@tanstack/solid-query';
import { For, Show, createMemo } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import { Icon } from '../../ui/icon.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { PermissionLine } from './permission-line.tsx';
import { allRulesOnNameQuery } from './services.queries.ts';
import type { DryRun } from './services.queries.ts';
import { describeOutcome, describeWalk } from './why-view.ts';

const effectIcons = {
  allow: { name: 'check', class: 'text-accent' },
  deny: { name: 'cross', class: 'text-high' },
  gap: { name: 'user', class: 'text-medium' },
} as const;

/** What would happen if the agent made the call, and the steps that lead to this decision. */
export function DryRunResult(props: {
  result: DryRun;
  reference: string;
  agents: readonly Identity[];
}) {
  const rules = useQuery(() => allRulesOnNameQuery(props.reference));
  const steps = createMemo(() =>
    describeWalk(props.result.why, {
      names: new Map(props.agents.map(({ id, name }) => [id, name])),
      rules: new Map((rules.data ?? []).map((rule) => [rule.id, rule])),
    }),
  );
  const outcome = () => describeOutcome(props.result);
  return (
    <Notice tone={outcome().tone}>
      <p class="font-semibold wrap-anywhere">
        <VisibleText text={props.result.action_description} />
      </p>
      <p>
        <VisibleText text={outcome().words} />
      </p>
      <h4 class="mt-3 text-sm font-semibold">How this is decided</h4>
      <ol class="mt-1 grid grid-cols-[minmax(0,1fr)] gap-2">
        <For each={steps()}>
          {(step, index) => (
            <li class="flex gap-2">
              <Icon
                name={effectIcons[step.effect].name}
                class={`mt-0.5 size-5 shrink-0 ${effectIcons[step.effect].class}`}
              />
              <div class="min-w-0 text-sm">
                <p>
                  {index() + 1}. <VisibleText text={step.words} />
                </p>
                <p class="font-mono break-all">
                  <VisibleText text={step.key} />
                </p>
                <Show when={step.rule}>
                  {(rule) => (
                    <div class="mt-1 border-l-2 border-line-strong pl-2">
                      <PermissionLine rule={rule()} />
                    </div>
                  )}
                </Show>
              </div>
            </li>
          )}
        </For>
      </ol>
      <details class="mt-3 text-sm">
        <summary class="min-h-6 font-medium">What would be sent</summary>
        <LongText
          class="mt-1 rounded-lg bg-surface p-3 font-mono text-sm"
          text={JSON.stringify(props.result.request, null, 2)}
          charactersMax={2000}
          linesMax={24}
        />
      </details>
    </Notice>
  );
}
