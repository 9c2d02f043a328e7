import { Show, createSignal, createUniqueId } from 'solid-js';
import type { z } from 'zod';

import type { ServiceRequest } from '#contracts/http/requests';
import type { SecretRequest, provideSecretBody } from '#contracts/http/secret-requests';
import { Button } from '../../ui/button.tsx';
import { SecretField } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { PartFields } from '../../ui/part-fields.tsx';
import { secretValueMax } from '../../ui/secret-parts.ts';
import { Countdown, TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { RequesterPath } from '../../ui/who.tsx';
import { Decline } from '../connect/decline.tsx';
import { parseHosts } from './hosts.ts';

const fieldClasses =
  'block w-full rounded-lg border border-line-strong bg-surface px-3 py-2 font-mono';

interface ProvideFormProps {
  readonly request: SecretRequest;
  readonly isStoring: boolean;
  readonly error: Error | null;
  readonly onProvide: (body: z.input<typeof provideSecretBody>) => void;
  readonly onDeclined: (declined: ServiceRequest) => void;
}

/**
 * Shows who asks for the secret, why, and where it would be sent. Below, the person enters its
 * value, which is never shown again.
 */
export function ProvideForm(props: ProvideFormProps) {
  const [value, setValue] = createSignal('');
  const [isShown, setShown] = createSignal(false);
  // oxlint-disable-next-line solid/reactivity -- only the first value: a later one must not change the form
  const [hosts, setHosts] = createSignal(props.request.allowed_hosts.join('\n'));
  const hostsId = createUniqueId();
  const isForOrg = () => props.request.tier === 'org';

  return (
    <article
      class="rounded-2xl border border-t-4 border-line border-t-medium-band bg-surface shadow-sm"
      aria-labelledby="provide-title"
      aria-busy={props.isStoring}
    >
      <header class="px-4 pt-4 pb-5 sm:px-6">
        <RequesterPath requester={props.request.requested_by} wantsWords="asks you for a secret" />
        <h1 id="provide-title" class="mt-4 text-xl leading-snug font-semibold sm:text-2xl">
          {props.request.refused_at === undefined ? 'Enter' : 'Enter a new value of'}{' '}
          <code class="font-mono wrap-anywhere">{props.request.name}</code>
        </h1>
        <Show when={props.request.reason}>
          {(reason) => (
            <blockquote class="mt-3 border-l-4 border-line pl-3 break-words whitespace-pre-wrap">
              <VisibleText text={reason()} multiline />
            </blockquote>
          )}
        </Show>
        <Show when={props.request.refused_at}>
          {(refusedAt) => (
            <p class="mt-3 font-medium text-medium">
              The provider refused the stored value <TimeAgo at={refusedAt()} inSentence />. The new
              one replaces it wherever the secret is used.
            </p>
          )}
        </Show>
        <p class="mt-3 text-sm text-ink-soft">
          {isForOrg()
            ? 'It becomes a secret of your organisation: the agents of everybody in it can use it.'
            : 'It becomes a secret of yours: only you and your agents can use it.'}{' '}
          No agent ever sees it.
        </p>
        <p class="mt-2 text-sm text-ink-soft">
          <Countdown endsAt={props.request.expires_at} textAfter="left; the link works once" />
        </p>
      </header>

      <form
        class="grid gap-5 border-t border-line px-4 py-5 sm:px-6"
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          props.onProvide({ value: value(), allowed_hosts: parseHosts(hosts()) });
        }}
      >
        <div>
          <label for={hostsId} class="font-semibold">
            May be sent only to
          </label>
          <p id={`${hostsId}-hint`} class="text-sm text-ink-soft">
            One host a line.{' '}
            {props.request.refused_at !== undefined
              ? 'These are the hosts of the stored secret: you can take some away, and add none here.'
              : props.request.allowed_hosts.length > 0
                ? 'These were asked for: check each of them.'
                : isForOrg()
                  ? 'At least one, such as api.example.com.'
                  : 'Without any, each host needs your permission when it is used.'}
          </p>
          <textarea
            id={hostsId}
            aria-describedby={`${hostsId}-hint`}
            class={`mt-2 ${fieldClasses}`}
            rows={rowsFor(props.request.allowed_hosts)}
            required={isForOrg()}
            spellcheck={false}
            autocapitalize="off"
            placeholder="api.example.com"
            value={hosts()}
            onInput={(event) => setHosts(event.currentTarget.value)}
          />
        </div>
        <Show
          when={props.request.parts}
          fallback={
            <SecretField
              label="The secret"
              value={value()}
              onChange={setValue}
              isShown={isShown()}
              onShow={setShown}
              showLabel="Show what is entered"
              maxLength={secretValueMax}
            />
          }
        >
          {(parts) => (
            <PartFields
              parts={parts()}
              hint="The secret has several parts."
              value={value()}
              onChange={setValue}
              isShown={isShown()}
              onShow={setShown}
            />
          )}
        </Show>
        <Show when={props.error}>{(error) => <ErrorNotice error={error()} />}</Show>
        <div class="grid gap-3">
          <Button type="submit" look="primary" class="w-full" disabled={props.isStoring}>
            {props.isStoring ? 'Storing…' : 'Store the secret'}
          </Button>
          <p class="text-center text-sm text-ink-soft">
            You did not expect this? Decline, or close the page: nothing is stored.
          </p>
          <Decline request={props.request} onDeclined={props.onDeclined} />
        </div>
      </form>
    </article>
  );
}

/**
 * How many characters fit on one line of the field on a small phone. A longer host takes several
 * lines.
 */
const lineCharacters = 26;
const rowsMax = 10;

/** The number of rows that the hosts need, so that all of them are visible. */
function rowsFor(hosts: readonly string[]): number {
  const lines = hosts.map((host) => Math.ceil(host.length / lineCharacters));
  return Math.min(
    rowsMax,
    Math.max(
      2,
      lines.reduce((sum, count) => sum + count, 0),
    ),
  );
}
