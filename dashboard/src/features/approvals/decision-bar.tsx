import { For, Show, createSignal } from 'solid-js';
import { Dynamic } from 'solid-js/web';

import { decisionWords } from '#contracts/decision-words';
import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import { Button } from '../../ui/button.tsx';
import { Key } from '../../ui/key.tsx';
import { useKeys } from '../../ui/keys.ts';
import { Countdown } from '../../ui/times.tsx';
import { useMe } from '../session/session.tsx';
import { choices } from './choices.tsx';
import type { Choice } from './choices.tsx';
import { Confirmation } from './confirmation.tsx';
import { useFieldsBelow } from './fields-below.ts';
import { describeDuration } from './remember-form.tsx';
import { needsSecondGesture } from './second-gesture.ts';
import type { DecideHandler } from './use-decision.ts';

interface DecisionBarProps {
  readonly approval: ApprovalResponse;
  readonly isDeciding: boolean;
  readonly onDecide: DecideHandler;
}

/** The grid classes of the buttons, by the number of buttons. */
const columns = [
  '',
  'grid-cols-1',
  'grid-cols-2',
  'grid-cols-3 sm:grid-cols-[1fr_1.5fr_1fr]',
  'grid-cols-2 sm:grid-cols-4',
];

/**
 * The bar with the buttons. However long the card is, the bar stays at the bottom of the window,
 * where a thumb reaches it.
 */
export function DecisionBar(props: DecisionBarProps) {
  /** The choice whose button or key was pressed last. */
  const [chosen, setChosen] = createSignal<Choice>();
  const [isInForm, setInForm] = createSignal(false);
  /** The decision that the first click chose, and that the second click has to confirm. */
  const [asked, setAsked] = createSignal<ResolveApprovalBody>();
  const me = useMe();
  const buttons: Record<string, HTMLButtonElement> = {};
  let decisionElement: HTMLDivElement | undefined;
  let bar: HTMLDivElement | undefined;
  const fieldsBelow = useFieldsBelow(() => bar);

  const shownChoices = () => choices.filter(({ isShown }) => isShown(props.approval, me()));
  const secondaryChoices = () =>
    shownChoices().filter(({ isSecondary: isAside }) => isAside === true);
  const mainChoices = () => shownChoices().filter(({ isSecondary: isAside }) => isAside !== true);
  const chosenForm = () => {
    const next = isInForm() ? chosen()?.nextStep : undefined;
    return next !== undefined && 'Form' in next ? next.Form : undefined;
  };

  const decide: DecideHandler = (body) => {
    const isAllowing = decisionWords[body.resolution].move === 'allow';
    if (!isAllowing || !needsSecondGesture(props.approval)) return props.onDecide(body);
    setAsked(body);
  };
  const choose = (choice: Choice) => {
    setChosen(choice);
    if ('Form' in choice.nextStep) setInForm(true);
    else decide(choice.nextStep.bodyOf(props.approval));
  };
  const focusChosen = () => buttons[chosen()?.name ?? '']?.focus();
  const goBack = () => {
    setInForm(false);
    focusChosen();
  };
  const withdrawFirstGesture = () => {
    setAsked(undefined);
    if (isInForm()) decisionElement?.querySelector<HTMLElement>('[type="submit"]')?.focus();
    else focusChosen();
  };
  useKeys(() => {
    if (props.isDeciding || asked() !== undefined) return {};
    if (isInForm()) return { Escape: goBack };
    return Object.fromEntries(
      shownChoices().flatMap((choice) =>
        choice.key === undefined ? [] : [[choice.key.name, choose.bind(undefined, choice)]],
      ),
    );
  });

  return (
    // The bar is always visible. So a focus inside the bar must not scroll the card while a person
    // reads it.
    <div
      ref={(element) => (bar = element)}
      class="sticky bottom-0 z-20 max-h-[85dvh] overflow-y-auto rounded-b-2xl border-t border-line bg-surface px-4 pt-2 pb-[max(0.75rem,env(safe-area-inset-bottom))] shadow-[0_-8px_24px_-16px_rgb(0_0_0/0.35)] sm:px-6 sm:pt-3 [&_*]:-scroll-mb-20"
    >
      <div class="mb-2 flex flex-wrap items-center justify-between gap-x-3 text-sm sm:mb-3">
        <Countdown endsAt={props.approval.expires_at} textAfter="left to decide" />
        <Show when={fieldsBelow() > 0}>
          <span class="font-medium whitespace-nowrap">
            <span aria-hidden="true">↓ </span>
            {fieldsBelow() === 1 ? '1 field' : `${fieldsBelow()} fields`}
            <span class="sr-only"> below</span>
          </span>
        </Show>
        <Show when={!isInForm() && asked() === undefined}>
          <For each={secondaryChoices()}>
            {(choice) => (
              <Button
                look="quiet"
                class="text-sm"
                disabled={props.isDeciding}
                onClick={() => choose(choice)}
              >
                {choice.label(props.approval)}
              </Button>
            )}
          </For>
        </Show>
      </div>
      <Show when={asked()}>
        {(body) => (
          <Confirmation
            approval={props.approval}
            rememberedDuration={describeDuration(body().ttl)}
            firstGestureSide="right"
            isBusy={props.isDeciding}
            onYes={() => props.onDecide(body())}
            onBack={withdrawFirstGesture}
          />
        )}
      </Show>
      {/* Kept while the second click is asked for: if the person goes back, their choices are still
          there. */}
      <div
        ref={(element) => (decisionElement = element)}
        class={asked() === undefined ? '' : 'hidden'}
      >
        <Show
          when={isInForm()}
          fallback={
            <div class={`grid gap-2 sm:gap-3 ${columns[mainChoices().length] ?? 'grid-cols-2'}`}>
              <For each={mainChoices()}>
                {(choice) => (
                  <Button
                    ref={(button) => (buttons[choice.name] = button)}
                    class="px-1! max-sm:text-sm"
                    look={choice.lookOf?.(props.approval) ?? 'plain'}
                    disabled={props.isDeciding}
                    aria-keyshortcuts={choice.key?.name}
                    onClick={() => choose(choice)}
                  >
                    {(props.isDeciding ? choice.busyLabel : undefined) ??
                      choice.label(props.approval)}{' '}
                    <Show when={choice.key}>{(key) => <Key name={key().name} />}</Show>
                  </Button>
                )}
              </For>
            </div>
          }
        >
          <Dynamic
            component={chosenForm()}
            approval={props.approval}
            isDeciding={props.isDeciding}
            onDecide={decide}
            onBack={goBack}
          />
        </Show>
      </div>
    </div>
  );
}
