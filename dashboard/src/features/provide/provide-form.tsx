import { Show, createSignal, createUniqueId } from 'solid-js';
import type { z } from 'zod';

import type { SecretRequest, provideSecretBody } from '#contracts/http/secret-requests';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Countdown } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Who } from '../../ui/who.tsx';
import { hostsIn } from './hosts.ts';

const valueMax = 8192;
const field = 'block w-full rounded-lg border border-line-strong bg-surface px-3 py-2 font-mono';

interface ProvideFormProps {
  readonly request: SecretRequest;
  readonly isStoring: boolean;
  readonly error: Error | null;
  readonly onProvide: (body: z.input<typeof provideSecretBody>) => void;
}

/** Who asks, what for and where it would go; then the value, which is sent and never shown again. */
export function ProvideForm(props: ProvideFormProps) {
  const [value, setValue] = createSignal('');
  const [isShown, setShown] = createSignal(false);
  // oxlint-disable-next-line solid/reactivity -- what was asked for is where the person begins
  const [hosts, setHosts] = createSignal(props.request.allowed_hosts.join('\n'));
  const valueId = createUniqueId();
  const hostsId = createUniqueId();
  const isOrg = () => props.request.tier === 'org';
  const isPadded = () => value() !== value().trim();

  return (
    <article
      class="rounded-2xl border border-t-4 border-line border-t-medium-band bg-surface shadow-sm"
      aria-labelledby="provide-title"
      aria-busy={props.isStoring}
    >
      <header class="px-4 pt-4 pb-5 sm:px-6">
        <Who requester={props.request.requested_by} wants="asks you for a secret" />
        <h1 id="provide-title" class="mt-4 text-xl leading-snug font-semibold sm:text-2xl">
          Enter <code class="font-mono wrap-anywhere">{props.request.name}</code>
        </h1>
        <Show when={props.request.reason}>
          {(reason) => (
            <blockquote class="mt-3 border-l-4 border-line pl-3 break-words whitespace-pre-wrap">
              <VisibleText text={reason()} multiline />
            </blockquote>
          )}
        </Show>
        <p class="mt-3 text-sm text-ink-soft">
          {isOrg()
            ? 'It becomes a secret of your organisation: the agents of everybody in it can use it.'
            : 'It becomes a secret of yours: only you and your agents can use it.'}{' '}
          No agent ever sees it.
        </p>
        <p class="mt-2 text-sm text-ink-soft">
          <Countdown until={props.request.expires_at} after="left; the link works once" />
        </p>
      </header>

      <form
        class="grid gap-5 border-t border-line px-4 py-5 sm:px-6"
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          props.onProvide({ value: value(), allowed_hosts: hostsIn(hosts()) });
        }}
      >
        <div>
          <label for={hostsId} class="font-semibold">
            May be sent only to
          </label>
          <p id={`${hostsId}-hint`} class="text-sm text-ink-soft">
            One host a line.{' '}
            {props.request.allowed_hosts.length > 0
              ? 'These were asked for: check each of them.'
              : isOrg()
                ? 'At least one, such as api.example.com.'
                : 'Without any, each host needs your permission when it is used.'}
          </p>
          <textarea
            id={hostsId}
            aria-describedby={`${hostsId}-hint`}
            class={`mt-2 ${field}`}
            rows={Math.min(6, Math.max(2, props.request.allowed_hosts.length))}
            required={isOrg()}
            spellcheck={false}
            autocapitalize="off"
            placeholder="api.example.com"
            value={hosts()}
            onInput={(event) => setHosts(event.currentTarget.value)}
          />
        </div>
        <div>
          <label for={valueId} class="font-semibold">
            The secret
          </label>
          <div class="mt-2 flex gap-2">
            <input
              id={valueId}
              class={`min-w-0 grow ${field}`}
              type={isShown() ? 'text' : 'password'}
              required
              maxLength={valueMax}
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              value={value()}
              onInput={(event) => setValue(event.currentTarget.value)}
            />
            <Button aria-pressed={isShown()} onClick={() => setShown(!isShown())}>
              {isShown() ? 'Hide' : 'Show'}
            </Button>
          </div>
          <Show when={isPadded()}>
            <p class="mt-2 text-sm text-medium" role="status">
              It begins or ends with a space, which is kept: check what was pasted.
            </p>
          </Show>
        </div>
        <Show when={props.error}>{(error) => <ErrorNotice error={error()} />}</Show>
        <div class="grid gap-3">
          <Button type="submit" look="primary" class="w-full" disabled={props.isStoring}>
            {props.isStoring ? 'Storing…' : 'Store the secret'}
          </Button>
          <p class="text-center text-sm text-ink-soft">
            You did not expect this? Close the page: nothing is stored.
          </p>
        </div>
      </form>
    </article>
  );
}
