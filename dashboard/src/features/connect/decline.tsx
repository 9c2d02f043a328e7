import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show, createSignal, createUniqueId, onMount } from 'solid-js';

import type { ServiceRequest } from '#contracts/http/requests';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { declineRequest, serviceRequestQuery } from './requests.queries.ts';

const reasonCharactersMax = 300;

/** The button and the form for declining a request. A reason is optional; the agent can read it. */
export function Decline(props: {
  request: Pick<ServiceRequest, 'id'>;
  onDeclined?: (declined: ServiceRequest) => void;
}) {
  const queryClient = useQueryClient();
  const [isOpen, setOpen] = createSignal(false);
  const [reason, setReason] = createSignal('');
  const fieldId = createUniqueId();
  const declining = useMutation(() => ({
    mutationFn: declineRequest,
    onSuccess: (declined: ServiceRequest) => {
      queryClient.setQueryData(serviceRequestQuery(declined.id).queryKey, declined);
      props.onDeclined?.(declined);
    },
  }));
  const decline = () => {
    if (declining.isPending) return;
    declining.mutate({ id: props.request.id, reason: reason().replaceAll(/\s+/g, ' ').trim() });
  };

  return (
    <Show
      when={isOpen()}
      fallback={
        <Button look="quiet" class="w-full" onClick={() => setOpen(true)}>
          Decline…
        </Button>
      }
    >
      <div
        onKeyDown={(event) => {
          if (event.key === 'Escape') setOpen(false);
          if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
          // Otherwise Enter would submit the form around this field, and so connect the service.
          event.preventDefault();
          decline();
        }}
      >
        <label for={fieldId} class="font-semibold">
          Why not?{' '}
          <span class="font-normal text-ink-soft">The agent reads it; you may leave it out.</span>
        </label>
        <input
          ref={(field) => onMount(() => field.focus())}
          id={fieldId}
          class="mt-2 block w-full rounded-lg border border-line-strong bg-surface px-3 py-2"
          maxLength={reasonCharactersMax}
          autocomplete="off"
          value={reason()}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
        <p class="mt-1 text-sm text-ink-soft">Your agents cannot ask for it again for 24 hours.</p>
        <Show when={declining.error}>
          {(error) => (
            <div class="mt-3">
              <ErrorNotice error={error()} />
            </div>
          )}
        </Show>
        <div class="mt-3 grid grid-cols-2 gap-2 sm:gap-3">
          <Button disabled={declining.isPending} onClick={() => setOpen(false)}>
            Back
          </Button>
          <Button look="danger" disabled={declining.isPending} onClick={decline}>
            {declining.isPending ? 'Declining…' : 'Decline'}
          </Button>
        </div>
      </div>
    </Show>
  );
}
