import { A } from '@solidjs/router';
import { Show, onMount } from 'solid-js';

import type { ServiceRequest } from '#contracts/http/requests';
import type { ConnectedService } from '#contracts/http/services';
import { Icon } from '../../ui/icon.tsx';
import { Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { pathOf } from '../services/service-view.ts';

/** Says that the service is connected, and what the agent will do next. */
export function Connected(props: { service: ConnectedService; request?: ServiceRequest }) {
  return (
    <section class="rounded-2xl border border-t-4 border-line border-t-accent bg-surface px-4 py-6 shadow-sm sm:px-6">
      <h1
        ref={(heading) => onMount(() => heading.focus())}
        tabindex="-1"
        class="flex items-center gap-2 text-xl font-semibold sm:text-2xl"
      >
        <Icon name="check" class="size-6 shrink-0 text-accent" />
        <VisibleText text={`${props.service.title} is connected`} />
      </h1>
      <Show when={props.service.status !== 'ready'}>
        <div class="mt-4">
          <Notice tone="warning">
            It cannot be used yet:{' '}
            {(props.service.missing ?? []).map(({ name }) => name).join(', ') || 'a credential'} is
            missing or has ended.
          </Notice>
        </div>
      </Show>
      <Show when={props.service.refused}>
        {(refused) => (
          <div class="mt-4">
            <Notice tone="warning">
              Calls will probably fail: <VisibleText text={namesOf(refused())} /> was refused the
              last time it was used.
            </Notice>
          </div>
        )}
      </Show>
      <Show
        when={props.request?.requester}
        fallback={
          <p class="mt-3">
            Agents use it as <code class="font-mono wrap-anywhere">{props.service.name}</code>.
          </p>
        }
      >
        {(requester) => (
          <p class="mt-3">
            <VisibleText text={requester().name} /> has been told, and uses it as{' '}
            <code class="font-mono wrap-anywhere">{props.service.name}</code>. If it waits, tell it
            to go on.
          </p>
        )}
      </Show>
      <p class="mt-3 text-ink-soft">
        {props.service.auto_allow_reads
          ? 'Reads run at once. Everything else asks you first: it appears under Approvals.'
          : 'Everything asks you first, reading too: it appears under Approvals.'}
      </p>
      <div class="mt-6 flex flex-wrap gap-3">
        <A
          href="/approvals"
          class="inline-flex min-h-11 items-center rounded-lg border border-line-strong px-4 font-semibold hover:bg-sunken"
        >
          See what waits for you
        </A>
        <A
          href={pathOf(props.service)}
          class="inline-flex min-h-11 items-center rounded-lg border border-line-strong px-4 font-semibold hover:bg-sunken"
        >
          Open the service
        </A>
        <Show when={props.request === undefined}>
          <A
            href="/services/new"
            class="inline-flex min-h-11 items-center rounded-lg px-4 font-semibold text-ink-soft hover:bg-sunken"
          >
            Connect another
          </A>
        </Show>
      </div>
    </section>
  );
}

function namesOf(refused: NonNullable<ConnectedService['refused']>): string {
  return refused.map(({ kind, name }) => `the ${kind} ${name}`).join(', ');
}
