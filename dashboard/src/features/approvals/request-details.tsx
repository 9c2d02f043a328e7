import { For, Match, Show, Switch, createMemo } from 'solid-js';

import type { ApprovalResponse, ShortenedValue } from '#contracts/http/approvals';
import { LongText } from '../../ui/long-text.tsx';
import { Notice } from '../../ui/notice.tsx';
import { formatSize } from '../../ui/size-text.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { CredentialPlaces } from './credentials.tsx';
import { describePlace, toRequestView } from './request-view.ts';
import type { NamedValue } from './request-view.ts';
import { Absent, Field, Section } from './section.tsx';

/**
 * The request as it will be sent. Values that the template marks as sensitive are shown as
 * `[REDACTED]`.
 */
export function RequestDetails(props: {
  request: ApprovalResponse['request'];
  exposureWarning: string;
  isOpen: boolean;
  isRecorded: boolean;
}) {
  const view = createMemo(() => toRequestView(props.request));
  const renderAbsent = (word: string) => (
    <Absent>{props.isRecorded ? word : 'not recorded'}</Absent>
  );
  return (
    <Section title="The exact request">
      <Show when={view().isTooLarge}>
        <div class="mb-4">
          <ShortenedValues values={view().shortened} isOpen={props.isOpen} />
        </div>
      </Show>
      <Show when={view().isExposed}>
        <div class="mb-4">
          <Notice tone="warning">{props.exposureWarning}</Notice>
        </div>
      </Show>
      <dl class="grid gap-3" dir="ltr">
        <Field label="Method">
          <span class="font-mono text-sm">
            <VisibleText text={view().method} />
          </span>
        </Field>
        <Show when={view().host}>
          {(host) => (
            <Field label="Host">
              <span class="font-mono text-sm font-semibold">
                <VisibleText text={host()} />
              </span>
              <Show when={host().includes('xn--')}>
                <span class="ml-2 text-sm text-medium">an international name, in ASCII</span>
              </Show>
            </Field>
          )}
        </Show>
        <Field label={view().host === null ? 'Address' : 'Path'}>
          <LongText class="font-mono text-sm" text={view().path} />
        </Field>
        <Show when={view().query.length > 0}>
          <Field label="Query">
            <NamedValues values={view().query} separator=" =" />
          </Field>
        </Show>
        <Field label="Credentials">
          <Show when={view().credentials.length > 0} fallback={renderAbsent('none')}>
            <CredentialPlaces credentials={view().credentials} />
          </Show>
        </Field>
        <Field label="Headers">
          <Show when={view().headers.length > 0} fallback={renderAbsent('the usual ones only')}>
            <NamedValues values={view().headers} separator=":" />
          </Show>
        </Field>
        <Show when={view().contentType}>
          {(type) => (
            <Field label="Content type">
              <LongText class="font-mono text-sm" text={type()} charactersMax={300} linesMax={4} />
            </Field>
          )}
        </Show>
        <Field label="Body">
          <Switch fallback={<Absent>none</Absent>}>
            <Match when={view().body.kind !== 'none'}>
              <LongText
                class="rounded-lg bg-sunken p-3 font-mono text-sm"
                text={view().body.text}
                charactersMax={1200}
                linesMax={24}
              />
            </Match>
          </Switch>
        </Field>
      </dl>
      <Show when={view().hidden}>
        {(hiddenSentence) => (
          <p class="mt-4 text-sm wrap-anywhere text-ink-soft">
            <VisibleText text={hiddenSentence()} />
          </p>
        )}
      </Show>
      <Show when={JSON.stringify(props.request.params) !== '{}'}>
        <details class="mt-4">
          <summary class="min-h-8 rounded text-sm font-medium text-ink-soft hover:text-ink">
            Parameters as the agent gave them
          </summary>
          <LongText
            class="mt-2 rounded-lg bg-sunken p-3 font-mono text-sm"
            text={JSON.stringify(props.request.params, null, 2)}
            charactersMax={1200}
            linesMax={24}
          />
        </details>
      </Show>
    </Section>
  );
}

function NamedValues(props: { values: readonly NamedValue[]; separator: string }) {
  return (
    <For each={props.values}>
      {({ name, value }) => (
        <div class="flex gap-2 font-mono text-sm">
          <span class="max-w-2/5 shrink-0 text-ink-soft">
            <VisibleText text={name} />
            {props.separator}
          </span>
          <LongText class="min-w-0" text={value} charactersMax={300} linesMax={4} />
        </div>
      )}
    </For>
  );
}

const shortenedValuesMax = 20;

/** The values that are only partly shown, for a request over 100 KiB. */
function ShortenedValues(props: { values: readonly ShortenedValue[]; isOpen: boolean }) {
  const countText = () =>
    props.values.length === 1 ? 'one value' : `${props.values.length} values`;
  return (
    <Notice tone="warning">
      <p class="font-semibold">This request is too large to be shown whole</p>
      <p class="mt-1">
        Of {countText()} only the beginning is shown; everything else is there.
        {props.isOpen ? ' It can be allowed once, by a second click, and not be remembered.' : ''}
      </p>
      <ul class="mt-2 grid gap-2 text-sm">
        <For each={props.values.slice(0, shortenedValuesMax)}>
          {(value) => (
            <li>
              <span class="font-mono font-semibold">
                <VisibleText text={describePlace(value.at)} />
              </span>
              : {formatSize(value.bytes)}
              <Show when={value.entries !== undefined}>
                , {value.shown} of {value.entries} entries shown
              </Show>
              <span class="block font-mono text-xs wrap-anywhere text-ink-soft">
                SHA-256 {value.sha256}
              </span>
            </li>
          )}
        </For>
      </ul>
      <Show when={props.values.length > shortenedValuesMax}>
        <p class="mt-2 text-sm">and {props.values.length - shortenedValuesMax} more.</p>
      </Show>
    </Notice>
  );
}
