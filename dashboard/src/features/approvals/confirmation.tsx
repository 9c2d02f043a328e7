import { For, onMount } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { announce } from '../../ui/announcer.tsx';
import { createArmed } from '../../ui/armed.ts';
import { Button } from '../../ui/button.tsx';
import { Key } from '../../ui/key.tsx';
import { useKeys } from '../../ui/keys.ts';
import { toVisibleText } from '../../ui/visible-characters.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { isTooLarge, splitQuestion, confirmLabelOf } from './second-gesture.ts';

interface ConfirmationProps {
  readonly approval: ApprovalResponse;
  /** How long the remembered rule will hold, in words. */
  readonly rememberedDuration?: string | undefined;
  /**
   * The side of the button that was pressed first. The cancel button is put there, so that an
   * accidental second tap changes nothing.
   */
  readonly firstGestureSide: 'left' | 'right';
  readonly isBusy: boolean;
  readonly onYes: () => void;
  readonly onBack: () => void;
}

/**
 * Asks for a second click on a button that names the action and its object. At first this button
 * ignores clicks for a moment.
 */
export function Confirmation(props: ConfirmationProps) {
  const [isArmed, arm] = createArmed();
  const question = () => splitQuestion(props.approval);
  const isReady = () => isArmed() && !props.isBusy;
  const confirm = () => {
    if (isReady()) props.onYes();
  };
  let goBackButton: HTMLButtonElement | undefined;
  let group: HTMLDivElement | undefined;

  onMount(() => {
    arm();
    goBackButton?.focus({ preventScroll: true });
    group?.scrollIntoView({ block: 'nearest' });
    const questionText = question()
      .map(({ text }) => text)
      .join('');
    announce(`${toVisibleText(questionText)} Press y for yes, Escape to go back.`);
  });
  useKeys(() => ({ y: confirm, Escape: props.isBusy ? undefined : props.onBack }));

  return (
    <div ref={(element) => (group = element)} role="group" aria-labelledby="confirmation">
      <p id="confirmation" class="max-h-[30dvh] overflow-y-auto text-lg leading-snug" tabindex="-1">
        <For each={question()}>
          {(part) =>
            part.isEmphasised ? (
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
        <VisibleText text={describeConsequences(props)} />
      </p>
      <div
        class="mt-3 flex gap-2 sm:gap-3 [&>*]:basis-0 [&>*]:grow"
        classList={{ 'flex-row-reverse': props.firstGestureSide === 'left' }}
      >
        <Button
          look="danger"
          class="px-2! max-sm:text-sm"
          disabled={!isReady()}
          aria-keyshortcuts="y"
          onClick={confirm}
        >
          {props.isBusy
            ? 'Deciding…'
            : confirmLabelOf(props.approval, props.rememberedDuration !== undefined)}{' '}
          <Key name="y" />
        </Button>
        <Button
          ref={(button) => (goBackButton = button)}
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

function describeConsequences({
  approval,
  rememberedDuration: remembered,
}: ConfirmationProps): string {
  const factsShown = [
    isTooLarge(approval.request) ? 'You cannot see all of what it sends.' : '',
    approval.risk === 'high' ? 'The gateway cannot undo it.' : '',
    remembered === undefined
      ? ''
      : `${approval.placement.name} may do the same for ${remembered} without asking.`,
  ];
  return factsShown.filter((fact) => fact !== '').join(' ');
}
