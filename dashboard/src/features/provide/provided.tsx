import { A } from '@solidjs/router';
import { Show, onMount } from 'solid-js';

import type { SecretRequest } from '#contracts/http/secret-requests';
import type { Secret } from '#contracts/http/secrets';
import { HostList } from '../../ui/host-list.tsx';
import { Icon } from '../../ui/icon.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';

/** Says that the secret is stored, and that the person has nothing more to do. */
export function Provided(props: { secret: Secret; by: SecretRequest['requested_by'] | undefined }) {
  return (
    <section class="rounded-2xl border border-t-4 border-line border-t-accent bg-surface px-4 py-6 shadow-sm sm:px-6">
      <h1
        ref={(heading) => onMount(() => heading.focus())}
        tabindex="-1"
        class="flex items-center gap-2 text-xl font-semibold sm:text-2xl"
      >
        <Icon name="check" class="size-6 shrink-0 text-accent" /> The secret is stored
      </h1>
      <p class="mt-3">
        <VisibleText text={props.by?.name ?? 'Whoever asked'} /> uses it by its name,{' '}
        <code class="font-mono wrap-anywhere">{props.secret.name}</code>, and never sees it. Your
        rules and approvals decide what it is used for.
      </p>
      <Show
        when={props.secret.allowed_hosts.length > 0}
        fallback={<p class="mt-3 text-ink-soft">It goes to no host that you have not allowed.</p>}
      >
        <p class="mt-3 text-ink-soft">It is sent only to</p>
        <HostList hosts={props.secret.allowed_hosts} />
      </Show>
      <A
        href="/approvals"
        class="mt-6 inline-flex min-h-11 items-center rounded-lg border border-line-strong px-4 font-semibold hover:bg-sunken"
      >
        See what waits for you
      </A>
    </section>
  );
}
