import { For, createSignal, onCleanup, onMount } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { Key } from '../../ui/key.tsx';
import { useKeys } from '../../ui/keys.ts';
import { visibleText } from '../../ui/visible-characters.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { isTooLarge, questionParts, yesWords } from './second-gesture.ts';

/** Long enough that the second tap of a double one comes too early. */
const armedAfterMs = 700;

interface ConfirmationProps {
  readonly approval: ApprovalResponse;
  /** For how long the same is allowed from now on, in words. */
  readonly remembered?: string | undefined;
  /** Where the button of the first gesture stood: there the way back is, so that a second tap changes nothing. */
  readonly firstGestureWas: 'left' | 'right';
  readonly isBusy: boolean;
  readonly onYes: () => void;
  readonly onBack: () => void;
}

/** The second gesture: names what is done to what, and takes no answer for a moment. */
export function Confirmation(props: ConfirmationProps) {
  const [isArmed, setArmed] = createSignal(false);
  const question = () => questionParts(props.approval);
  const isReady = () => isArmed() && !props.isBusy;
  const yes = () => {
    if (isReady()) props.onYes();
  };
  let back: HTMLButtonElement | undefined;
  let group: HTMLDivElement | undefined;

  onMount(() => {
    const timer = setTimeout(() => setArmed(true), armedAfterMs);
    onCleanup(() => clearTimeout(timer));
    back?.focus({ preventScroll: true });
    group?.scrollIntoView({ block: 'nearest' });
    const asked = question()
      .map(({ text }) => text)
      .join('');
    announce(`${visibleText(asked)} Press y for yes, Escape to go back.`);
  });
  useKeys(() => ({ y: yes, Escape: props.isBusy ? undefined : props.onBack }));

  return (
    <div ref={(element) => (group = element)} role="group" aria-labelledby="confirmation">
      <p id="confirmation" class="max-h-[30dvh] overflow-y-auto text-lg leading-snug" tabindex="-1">
        <For each={question()}>
          {(part) =>
            part.isStrong ? (
              <strong class="font-semibold">
                <VisibleText text={part.text} />
              </strong>
            ) : (
              <VisibleText text={part.text} />
            )
          }
        </For>
      </p>
      <p class="mt-1 text-sm text-ink-soft">
        <VisibleText text={consequence(props)} />
      </p>
      <div
        class="mt-3 flex gap-2 sm:gap-3 [&>*]:basis-0 [&>*]:grow"
        classList={{ 'flex-row-reverse': props.firstGestureWas === 'left' }}
      >
        <Button
          look="danger"
          class="px-2! max-sm:text-sm"
          disabled={!isReady()}
          aria-keyshortcuts="y"
          onClick={yes}
        >
          {props.isBusy ? 'Deciding…' : yesWords(props.approval, props.remembered !== undefined)}{' '}
          <Key name="y" />
        </Button>
        <Button
          ref={(button) => (back = button)}
          disabled={props.isBusy}
          aria-keyshortcuts="Escape"
          onClick={() => props.onBack()}
        >
          Go back <Key name="Esc" />
        </Button>
      </div>
    </div>
  );
}

function consequence({ approval, remembered }: ConfirmationProps): string {
  const facts = [
    isTooLarge(approval.request) ? 'You cannot see all of what it sends.' : '',
    approval.risk === 'high' ? 'The gateway cannot undo it.' : '',
    remembered === undefined
      ? ''
      : `${approval.placement.name} may do the same for ${remembered} without asking.`,
  ];
  return facts.filter((fact) => fact !== '').join(' ');
}
