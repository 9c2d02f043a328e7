import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show, createSignal } from 'solid-js';

import type { Webhook } from '#contracts/http/webhooks';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { DeliveryList } from './delivery-list.tsx';
import { describeEvents } from './event-choices.ts';
import { deleteWebhook, verifyWebhook, webhooksKey } from './webhooks.queries.ts';

const statusWords = {
  active: 'works',
  pending_verification: 'not verified',
  disabled: 'switched off',
} as const;

/** The card of one webhook: its address, state and deliveries, and buttons to change it. */
export function WebhookCard(props: { webhook: Webhook; canChange: boolean }) {
  const [showsDeliveries, setShowsDeliveries] = createSignal(false);
  const host = () => new URL(props.webhook.url).host;
  return (
    <li class="grid grid-cols-[minmax(0,1fr)] gap-3 rounded-xl border border-line bg-surface p-4">
      <div>
        <h2 class="flex flex-wrap items-center gap-2 font-semibold wrap-anywhere">
          <VisibleText text={host()} />
          <Chip>{statusWords[props.webhook.status]}</Chip>
        </h2>
        <Show when={props.webhook.description}>
          {(description) => (
            <p class="wrap-anywhere">
              <VisibleText text={description()} />
            </p>
          )}
        </Show>
        <p class="mt-1 font-mono text-sm break-all text-ink-soft">
          <VisibleText text={props.webhook.url} />
        </p>
        <p class="mt-1 text-sm wrap-anywhere text-ink-soft">
          {describeEvents(props.webhook.events).join(' · ')}
          {' · created '}
          <TimeAgo at={props.webhook.created_at} inSentence />
        </p>
      </div>
      <Trouble webhook={props.webhook} />
      <WebhookActions
        webhook={props.webhook}
        canChange={props.canChange}
        showsDeliveries={showsDeliveries()}
        onToggle={() => setShowsDeliveries((shown) => !shown)}
      />
      <Show when={showsDeliveries()}>
        <div class="border-t border-line pt-3">
          <DeliveryList webhookId={props.webhook.id} canChange={props.canChange} />
        </div>
      </Show>
    </li>
  );
}

/** Says why nothing is delivered, and what to do about it. */
function Trouble(props: { webhook: Webhook }) {
  return (
    <Show when={props.webhook.status !== 'active'}>
      <Notice tone="warning">
        <Show
          when={props.webhook.status === 'disabled'}
          fallback="The address has not answered the challenge yet, so its events wait. Once the receiver answers it, press Verify."
        >
          <Show when={props.webhook.disabled_reason}>
            {(reason) => (
              <>
                <VisibleText text={reason()} />{' '}
              </>
            )}
          </Show>
          Once the receiver works again, press Verify.
        </Show>
      </Notice>
    </Show>
  );
}

function WebhookActions(props: {
  webhook: Webhook;
  canChange: boolean;
  showsDeliveries: boolean;
  onToggle: () => void;
}) {
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: webhooksKey });
  const host = () => new URL(props.webhook.url).host;
  const verifying = useMutation(() => ({
    mutationFn: verifyWebhook,
    onSuccess: ({ status }: Webhook) =>
      announce(
        status === 'active'
          ? 'The webhook works'
          : 'A challenge is sent. The webhook becomes active when the address answers it.',
      ),
    onSettled: refresh,
  }));
  const deleting = useMutation(() => ({
    mutationFn: deleteWebhook,
    onSuccess: () => announce(`The webhook to ${host()} is deleted`),
    onSettled: refresh,
  }));
  return (
    <>
      <Show when={verifying.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Button
          aria-expanded={props.showsDeliveries}
          aria-label={`Deliveries to ${host()}`}
          onClick={() => props.onToggle()}
        >
          Deliveries
        </Button>
        <Show when={props.canChange && props.webhook.status !== 'active'}>
          <Button
            aria-label={`Verify ${host()}`}
            disabled={verifying.isPending}
            onClick={() => verifying.mutate({ id: props.webhook.id })}
          >
            {verifying.isPending ? 'Verifying…' : 'Verify'}
          </Button>
        </Show>
        <Show when={props.canChange}>
          <ActAfterQuestion
            label="Delete"
            accessibleLabel={`Delete the webhook to ${host()}`}
            question={
              <>
                Delete the webhook to <VisibleText text={host()} />?
              </>
            }
            consequences="It receives no events from now on, and deliveries that are still to be made are dropped."
            yes="Yes, delete it"
            isBusy={deleting.isPending}
            error={deleting.error}
            onYes={() => deleting.mutate({ id: props.webhook.id })}
          />
        </Show>
      </div>
    </>
  );
}
