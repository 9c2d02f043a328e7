import { Match, Show, Switch, createSignal } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { useKeys } from '../../ui/keys.ts';
import { Countdown } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { mayHandUp } from './approval-view.ts';
import { DenyForm } from './deny-form.tsx';
import { RememberForm } from './remember-form.tsx';
import type { Decide } from './use-decision.ts';

interface DecisionBarProps {
  readonly approval: ApprovalResponse;
  readonly isDeciding: boolean;
  readonly onDecide: Decide;
}

/** Stays at the bottom of the window, where a thumb reaches it, however long the card is. */
export function DecisionBar(props: DecisionBarProps) {
  const [mode, setMode] = createSignal<'choose' | 'remember' | 'deny'>('choose');
  const me = useMe();
  const buttons: Partial<Record<'allow' | 'remember' | 'deny', HTMLButtonElement>> = {};

  const allowOnce = () => props.onDecide({ resolution: 'allow' });
  const back = () => {
    const from = mode();
    setMode('choose');
    if (from !== 'choose') buttons[from]?.focus();
  };
  // What cannot be undone takes two keys; everything else one.
  const allowByKey = () => {
    if (props.approval.risk !== 'high') return allowOnce();
    buttons.allow?.focus();
    announce('High risk: press Enter to allow it once.');
  };
  useKeys(() => {
    if (props.isDeciding) return {};
    if (mode() !== 'choose') return { Escape: back };
    return { a: allowByKey, r: () => setMode('remember'), d: () => setMode('deny') };
  });

  return (
    <div class="sticky bottom-0 z-20 max-h-[85dvh] overflow-y-auto rounded-b-2xl border-t border-line bg-surface px-4 pt-3 pb-[max(1rem,env(safe-area-inset-bottom))] shadow-[0_-8px_24px_-16px_rgb(0_0_0/0.35)] sm:px-6">
      <div class="mb-3 flex items-center justify-between gap-3 text-sm">
        <Countdown until={props.approval.expires_at} after="left to decide" />
        <Show when={mode() === 'choose' && mayHandUp(me(), props.approval)}>
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
      <Switch>
        <Match when={mode() === 'remember'}>
          <RememberForm {...props} onBack={back} />
        </Match>
        <Match when={mode() === 'deny'}>
          <DenyForm {...props} onBack={back} />
        </Match>
        <Match when={mode() === 'choose'}>
          <div class="grid grid-cols-3 gap-2 sm:grid-cols-[1fr_1.5fr_1fr] sm:gap-3">
            <Button
              ref={(button) => (buttons.deny = button)}
              class="px-1! max-sm:text-sm"
              disabled={props.isDeciding}
              aria-keyshortcuts="d"
              onClick={() => setMode('deny')}
            >
              Deny <Key name="d" />
            </Button>
            <Button
              ref={(button) => (buttons.remember = button)}
              class="px-1! max-sm:text-sm"
              disabled={props.isDeciding}
              aria-keyshortcuts="r"
              onClick={() => setMode('remember')}
            >
              Allow and remember <Key name="r" />
            </Button>
            <Button
              ref={(button) => (buttons.allow = button)}
              class="px-1! max-sm:text-sm"
              look={props.approval.risk === 'high' ? 'danger' : 'primary'}
              disabled={props.isDeciding}
              aria-keyshortcuts="a"
              onClick={allowOnce}
            >
              {props.isDeciding ? 'Deciding…' : 'Allow once'} <Key name="a" />
            </Button>
          </div>
        </Match>
      </Switch>
    </div>
  );
}

function Key(props: { name: string }) {
  return (
    <kbd
      class="keyboard-only hidden min-w-5 rounded border border-current px-1 text-center font-mono text-xs leading-5 font-normal sm:inline"
      aria-hidden="true"
    >
      {props.name}
    </kbd>
  );
}
