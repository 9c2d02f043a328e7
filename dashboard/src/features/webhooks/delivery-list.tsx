import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import type { Delivery } from '#contracts/http/webhooks';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { KeyedList } from '../../ui/keyed-list.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { MoreButton } from '../../ui/more-button.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Nothing } from '../../ui/nothing.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { deliveriesQuery, redeliver, webhooksKey } from './webhooks.queries.ts';

/** No event reports an attempt to deliver, so the list polls. */
const askAgainMs = 10_000;

const statusWords = {
  held: 'waits for verification',
  pending: 'to be delivered',
  delivered: 'delivered',
  failed: 'failed',
} as const;

/** The deliveries of a webhook, newest first. An admin can send each again. */
export function DeliveryList(props: { webhookId: string; canChange: boolean }) {
  const deliveries = useInfiniteQuery(() => ({
    ...deliveriesQuery(props.webhookId),
    refetchInterval: askAgainMs,
  }));
  const items = () => deliveries.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Loaded query={deliveries}>
      {() => (
        <Show when={items().length > 0} fallback={<Nothing>No event was sent yet.</Nothing>}>
          <ul class="divide-y divide-line">
            <KeyedList items={items()} keyOf={({ id }) => id}>
              {(delivery) => <DeliveryRow delivery={delivery()} canChange={props.canChange} />}
            </KeyedList>
          </ul>
          <MoreButton query={deliveries} label="Show older" class="mt-3" />
        </Show>
      )}
    </Loaded>
  );
}

function DeliveryRow(props: { delivery: Delivery; canChange: boolean }) {
  const queryClient = useQueryClient();
  const sending = useMutation(() => ({
    mutationFn: redeliver,
    onSuccess: () => announce('The delivery is sent again'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: webhooksKey }),
  }));
  const isOver = () => props.delivery.status === 'delivered' || props.delivery.status === 'failed';
  return (
    <li class="flex flex-wrap items-center gap-x-4 gap-y-2 py-3 first:pt-0 last:pb-0">
      <div class="min-w-0 grow basis-56">
        <p class="flex flex-wrap items-center gap-2 font-medium">
          <code class="font-mono text-sm">{props.delivery.type}</code>
          <Chip>{statusWords[props.delivery.status]}</Chip>
        </p>
        <p class="text-sm wrap-anywhere text-ink-soft">
          {`${props.delivery.attempts} ${props.delivery.attempts === 1 ? 'attempt' : 'attempts'}`}
          <Show when={props.delivery.last_status_code}>{(code) => <> · HTTP {code()}</>}</Show>
          <Show when={props.delivery.status === 'pending' && props.delivery.next_attempt_at}>
            {(at) => <> · next at {new Date(at()).toLocaleTimeString()}</>}
          </Show>
          <Show when={props.delivery.last_error}>
            {(error) => (
              <>
                {' · '}
                <VisibleText text={error()} />
              </>
            )}
          </Show>
          {' · '}
          <TimeAgo at={props.delivery.created_at} />
        </p>
        <Show when={sending.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      </div>
      <Show when={props.canChange && isOver()}>
        <Button
          aria-label={`Send again: ${props.delivery.type}`}
          disabled={sending.isPending}
          onClick={() => sending.mutate(props.delivery)}
        >
          {sending.isPending ? 'Sending…' : 'Send again'}
        </Button>
      </Show>
    </li>
  );
}
