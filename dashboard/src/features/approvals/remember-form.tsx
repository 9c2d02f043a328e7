import { useQuery } from '@tanstack/solid-query';
import { For, Show, createMemo, createSignal, createUniqueId, onMount } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { Button } from '../../ui/button.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { openApprovalsQuery } from './approvals.queries.ts';
import { findCoveredApprovals } from './coverage.ts';
import type { DecideHandler } from './use-decision.ts';

const durations = [
  ['1h', '1 hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

/** The duration in words: `24 hours` for the form's `24h`. */
export function describeDuration(ttl: string | undefined): string | undefined {
  return durations.find(([value]) => value === ttl)?.[1] ?? ttl;
}

interface RememberFormProps {
  readonly approval: ApprovalResponse;
  readonly isDeciding: boolean;
  readonly onDecide: DecideHandler;
  readonly onBack: () => void;
}

/**
 * The form in which a person chooses what a rule allows and for how long. The narrowest suggestion
 * comes first. The form lists the other waiting calls that the rule would allow immediately.
 */
export function RememberForm(props: RememberFormProps) {
  const [tierAt, setTierAt] = createSignal(0);
  const [ttl, setTtl] = createSignal('24h');
  const [isCascading, setCascading] = createSignal(true);
  const openApprovals = useQuery(() => openApprovalsQuery());
  const keys = () => props.approval.suggested_tiers[tierAt()]?.keys ?? [];
  const coveredApprovals = createMemo(() =>
    findCoveredApprovals(keys(), props.approval, openApprovals.data?.items ?? []),
  );
  const durationId = createUniqueId();

  const submit = (event: Event) => {
    event.preventDefault();
    props.onDecide({
      resolution: 'allow_remember',
      remember_keys: keys(),
      ttl: ttl(),
      // Other calls are allowed too only if this form has listed them.
      cascade: isCascading() && coveredApprovals().length > 0,
    });
  };

  return (
    <form
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') props.onBack();
      }}
    >
      <fieldset>
        <legend class="mb-2 font-semibold">
          What <VisibleText text={props.approval.placement.name} /> may do from now on
        </legend>
        <div class="grid gap-2">
          <For each={props.approval.suggested_tiers}>
            {(tier, index) => (
              <label class="flex cursor-pointer gap-3 rounded-lg border border-line-strong p-3 has-checked:border-accent has-checked:bg-accent-soft">
                <input
                  ref={(input) => {
                    if (index() === 0) onMount(() => input.focus());
                  }}
                  type="radio"
                  name="tier"
                  class="mt-1 size-4 shrink-0 accent-accent"
                  checked={tierAt() === index()}
                  onChange={() => setTierAt(index())}
                />
                <span class="min-w-0">
                  <span class="block leading-snug font-medium">
                    <VisibleText text={tier.description} />
                  </span>
                  <For each={tier.keys}>
                    {(key) => (
                      <LongText
                        class="mt-0.5 font-mono text-sm text-ink-soft"
                        text={key}
                        charactersMax={160}
                        linesMax={2}
                      />
                    )}
                  </For>
                </span>
              </label>
            )}
          </For>
        </div>
      </fieldset>
      <Show when={props.approval.placement.kind === 'subagent'}>
        <p class="mt-2 text-sm text-medium">
          Agents above this subagent may make keys for it, and so use what you allow here.
        </p>
      </Show>
      <Show when={coveredApprovals().length > 0}>
        <Cascade covered={coveredApprovals()} isChecked={isCascading()} onChange={setCascading} />
      </Show>
      <div class="mt-3 flex items-center gap-3">
        <label for={durationId} class="font-semibold">
          For
        </label>
        <select
          id={durationId}
          class="min-h-11 grow rounded-lg border border-line-strong bg-surface px-3 sm:grow-0"
          value={ttl()}
          onChange={(event) => setTtl(event.currentTarget.value)}
        >
          <For each={durations}>{([value, text]) => <option value={value}>{text}</option>}</For>
        </select>
      </div>
      {/* The buttons can be reached even if the panel itself has to scroll. */}
      <div class="sticky bottom-0 grid grid-cols-2 gap-2 bg-surface py-3 sm:gap-3">
        <Button disabled={props.isDeciding} onClick={() => props.onBack()}>
          Back
        </Button>
        <Button
          type="submit"
          look={props.approval.risk === 'high' ? 'danger' : 'primary'}
          disabled={props.isDeciding}
        >
          {props.isDeciding ? 'Deciding…' : 'Allow and remember'}
        </Button>
      </div>
    </form>
  );
}

function Cascade(props: {
  covered: ApprovalResponse[];
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}) {
  return (
    <div class="mt-3 rounded-lg bg-sunken p-3">
      <label class="flex cursor-pointer gap-3 font-medium">
        <input
          type="checkbox"
          class="mt-1 size-4 shrink-0 accent-accent"
          checked={props.isChecked}
          onChange={(event) => props.onChange(event.currentTarget.checked)}
        />
        {props.covered.length === 1
          ? 'Also allow this call, which waits for the same:'
          : `Also allow these ${props.covered.length} calls, which wait for the same:`}
      </label>
      <ul class="mt-1 ml-7 grid list-disc gap-1 pl-4 text-sm">
        <For each={props.covered}>
          {(otherApproval) => (
            <li>
              <VisibleText text={otherApproval.action_description} />
            </li>
          )}
        </For>
      </ul>
    </div>
  );
}
