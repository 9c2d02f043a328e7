import { createSignal, createUniqueId, onMount } from 'solid-js';

import { Button } from '../../ui/button.tsx';
import type { DecideHandler } from './use-decision.ts';

const reasonCharactersMax = 500;

/** The form for denying a call. The agent can read the reason that is entered here. */
export function DenyForm(props: {
  isDeciding: boolean;
  onDecide: DecideHandler;
  onBack: () => void;
}) {
  const [reason, setReason] = createSignal('');
  const fieldId = createUniqueId();

  const deny = () => {
    const givenReason = reason().trim();
    props.onDecide({ resolution: 'deny', ...(givenReason === '' ? {} : { reason: givenReason }) });
  };

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        deny();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') props.onBack();
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) deny();
      }}
    >
      <label for={fieldId} class="font-semibold">
        Why not?{' '}
        <span class="font-normal text-ink-soft">The agent reads it; you may leave it out.</span>
      </label>
      <textarea
        ref={(field) => onMount(() => field.focus())}
        id={fieldId}
        class="mt-2 block w-full rounded-lg border border-line-strong bg-surface px-3 py-2"
        rows="3"
        maxLength={reasonCharactersMax}
        value={reason()}
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <div class="mt-3 grid grid-cols-2 gap-2 sm:gap-3">
        <Button disabled={props.isDeciding} onClick={() => props.onBack()}>
          Back
        </Button>
        <Button type="submit" look="danger" disabled={props.isDeciding}>
          {props.isDeciding ? 'Denying…' : 'Deny'}
        </Button>
      </div>
    </form>
  );
}
