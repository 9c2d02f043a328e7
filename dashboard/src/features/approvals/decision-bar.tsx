import { Match, Show, Switch, createSignal } from 'solid-js';

import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import { Button } from '../../ui/button.tsx';
import { Key } from '../../ui/key.tsx';
import { useKeys } from '../../ui/keys.ts';
import { Countdown } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { mayHandUp } from './approval-view.ts';
import { Confirmation } from './confirmation.tsx';
import { DenyForm } from './deny-form.tsx';
import { useFieldsBelow } from './fields-below.ts';
import { RememberForm, durationWords } from './remember-form.tsx';
import { isTooLarge, needsSecondGesture } from './second-gesture.ts';
import type { Decide } from './use-decision.ts';

interface DecisionBarProps {
  readonly approval: ApprovalResponse;
  readonly isDeciding: boolean;
  readonly onDecide: Decide;
}

/** Stays at the bottom of the window, where a thumb reaches it, however long the card is. */
export function DecisionBar(props: DecisionBarProps) {
  const [mode, setMode] = createSignal<'choose' | 'remember' | 'deny'>('choose');
  /** What the first gesture asked for and the second has to confirm. */
  const [asked, setAsked] = createSignal<ResolveApprovalBody>();
  const me = useMe();
  const buttons: Partial<Record<'allow' | 'remember' | 'deny', HTMLButtonElement>> = {};
  let choices: HTMLDivElement | undefined;
  let bar: HTMLDivElement | undefined;
  const fieldsBelow = useFieldsBelow(() => bar);

  const decide: Decide = (body) => {
    const isAllowing = body.resolution === 'allow' || body.resolution === 'allow_remember';
    if (!isAllowing || !needsSecondGesture(props.approval)) return props.onDecide(body);
    setAsked(body);
  };
  const allowOnce = () =>
    decide({
      resolution: 'allow',
      ...(isTooLarge(props.approval.request) ? { acknowledge: 'too_large' as const } : {}),
    });
  const mayAllow = () => props.approval.verified;
  const mayRemember = () => mayAllow() && !isTooLarge(props.approval.request);
  const back = () => {
    const from = mode();
    setMode('choose');
    if (from !== 'choose') buttons[from]?.focus();
  };
  const takeBack = () => {
    setAsked(undefined);
    if (mode() === 'choose') buttons.allow?.focus();
    else choices?.querySelector<HTMLElement>('[type="submit"]')?.focus();
  };
  useKeys(() => {
    if (props.isDeciding || asked() !== undefined) return {};
    if (mode() !== 'choose') return { Escape: back };
    return {
      a: mayAllow() ? allowOnce : undefined,
      r: mayRemember() ? () => setMode('remember') : undefined,
      d: () => setMode('deny'),
    };
  });

  return (
    <div
      ref={(element) => (bar = element)}
      class="sticky bottom-0 z-20 max-h-[85dvh] overflow-y-auto rounded-b-2xl border-t border-line bg-surface px-4 pt-2 pb-[max(0.75rem,env(safe-area-inset-bottom))] shadow-[0_-8px_24px_-16px_rgb(0_0_0/0.35)] sm:px-6 sm:pt-3"
    >
      <div class="mb-2 flex flex-wrap items-center justify-between gap-x-3 text-sm sm:mb-3">
        <Countdown until={props.approval.expires_at} after="left to decide" />
        <Show when={fieldsBelow() > 0}>
          <span class="font-medium whitespace-nowrap">
            <span aria-hidden="true">↓ </span>
            {fieldsBelow() === 1 ? '1 field' : `${fieldsBelow()} fields`}
            <span class="sr-only"> below</span>
          </span>
        </Show>
        <Show
          when={mode() === 'choose' && asked() === undefined && mayHandUp(me(), props.approval)}
        >
          <Button
            look="quiet"
            class="text-sm"
            disabled={props.isDeciding}
            onClick={() => props.onDecide({ resolution: 'bubble' })}
          >
            Hand up to <VisibleText text={props.approval.requester.path[0] ?? 'the user'} />
          </Button>
        </Show>
      </div>
      <Show when={asked()}>
        {(body) => (
          <Confirmation
            approval={props.approval}
            remembered={durationWords(body().ttl)}
            firstGestureWas="right"
            isBusy={props.isDeciding}
            onYes={() => props.onDecide(body())}
            onBack={takeBack}
          />
        )}
      </Show>
      {/* Kept while the second gesture is asked for: what was chosen is still chosen on the way back. */}
      <div ref={(element) => (choices = element)} class={asked() === undefined ? '' : 'hidden'}>
        <Switch>
          <Match when={mode() === 'remember'}>
            <RememberForm {...props} onDecide={decide} onBack={back} />
          </Match>
          <Match when={mode() === 'deny'}>
            <DenyForm {...props} onBack={back} />
          </Match>
          <Match when={mode() === 'choose'}>
            <div
              class="grid gap-2 sm:gap-3"
              classList={{
                'grid-cols-3 sm:grid-cols-[1fr_1.5fr_1fr]': mayRemember(),
                'grid-cols-2': mayAllow() && !mayRemember(),
                'grid-cols-1': !mayAllow(),
              }}
            >
              <Button
                ref={(button) => (buttons.deny = button)}
                class="px-1! max-sm:text-sm"
                disabled={props.isDeciding}
                aria-keyshortcuts="d"
                onClick={() => setMode('deny')}
              >
                Deny <Key name="d" />
              </Button>
              <Show when={mayRemember()}>
                <Button
                  ref={(button) => (buttons.remember = button)}
                  class="px-1! max-sm:text-sm"
                  disabled={props.isDeciding}
                  aria-keyshortcuts="r"
                  onClick={() => setMode('remember')}
                >
                  Allow and remember <Key name="r" />
                </Button>
              </Show>
              <Show when={mayAllow()}>
                <Button
                  ref={(button) => (buttons.allow = button)}
                  class="px-1! max-sm:text-sm"
                  look={needsSecondGesture(props.approval) ? 'danger' : 'primary'}
                  disabled={props.isDeciding}
                  aria-keyshortcuts="a"
                  onClick={allowOnce}
                >
                  {props.isDeciding ? 'Deciding…' : 'Allow once'} <Key name="a" />
                </Button>
              </Show>
            </div>
          </Match>
        </Switch>
      </div>
    </div>
  );
}
