import { Show, createSignal, onMount } from 'solid-js';
import type { JSX } from 'solid-js';

import { createArmed } from './armed.ts';
import { Button } from './button.tsx';
import { ErrorNotice } from './notice.tsx';
import { toVisibleText } from './visible-characters.ts';

interface QuestionProps {
  /** The question, which says what ends: "Revoke the key laptop?" */
  readonly question: JSX.Element;
  /** What stops working as a consequence. */
  readonly consequences: JSX.Element;
  /** The label of the button that confirms, which repeats the action: "Yes, revoke it". */
  readonly yes: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onYes: () => void;
}

/**
 * A button for an action that ends something permanently. Pressing it replaces it with a question
 * that says what will stop working. Only the answer to the question carries out the action.
 */
export function ActAfterQuestion(
  props: QuestionProps & {
    readonly label: JSX.Element;
    /** What the button acts on, for people who cannot see where the button is. */
    readonly accessibleLabel?: string;
    readonly buttonClass?: string;
  },
) {
  const [isAsked, setAsked] = createSignal(false);
  let button: HTMLButtonElement | undefined;
  const accessibleLabel = () =>
    props.accessibleLabel === undefined ? undefined : toVisibleText(props.accessibleLabel);
  return (
    <Show
      when={isAsked()}
      fallback={
        <Button
          ref={(element) => (button = element)}
          class={props.buttonClass ?? ''}
          aria-label={accessibleLabel()}
          onClick={() => setAsked(true)}
        >
          {props.label}
        </Button>
      }
    >
      <Question
        question={props.question}
        consequences={props.consequences}
        yes={props.yes}
        isBusy={props.isBusy}
        error={props.error}
        onYes={() => props.onYes()}
        onBack={() => {
          setAsked(false);
          button?.focus();
        }}
      />
    </Show>
  );
}

/**
 * The question, which is part of the page and not a dialog. The button to go back has the focus and
 * comes first, where the button was that opened the question.
 */
export function Question(props: QuestionProps & { readonly onBack: () => void }) {
  const [isArmed, arm] = createArmed();
  const isReady = () => isArmed() && !props.isBusy;
  let backButton: HTMLButtonElement | undefined;
  let questionText: HTMLParagraphElement | undefined;
  let group: HTMLDivElement | undefined;

  onMount(() => {
    arm();
    group?.setAttribute('aria-label', questionText?.textContent ?? '');
    backButton?.focus({ preventScroll: true });
    group?.scrollIntoView({ block: 'nearest' });
  });

  return (
    <div
      ref={(element) => (group = element)}
      role="group"
      class="w-full rounded-lg border border-high bg-high-soft p-4 text-left"
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !props.isBusy) props.onBack();
      }}
    >
      <p ref={(element) => (questionText = element)} class="font-semibold wrap-anywhere">
        {props.question}
      </p>
      <div class="mt-1 text-sm wrap-anywhere">{props.consequences}</div>
      <Show when={props.error}>
        {(error) => (
          <div class="mt-3">
            <ErrorNotice error={error()} />
          </div>
        )}
      </Show>
      <div class="mt-3 flex flex-wrap gap-2">
        <Button
          ref={(element) => (backButton = element)}
          disabled={props.isBusy}
          onClick={() => props.onBack()}
        >
          Go back
        </Button>
        <Button
          look="danger"
          disabled={!isReady()}
          onClick={() => {
            if (isReady()) props.onYes();
          }}
        >
          {props.isBusy ? 'One moment…' : props.yes}
        </Button>
      </div>
    </div>
  );
}
