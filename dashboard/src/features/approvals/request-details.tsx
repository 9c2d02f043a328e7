import { For, Match, Show, Switch, createMemo } from 'solid-js';

import type { ApprovalResponse, ShortenedValue } from '#contracts/http/approvals';
import { LongText } from '../../ui/long-text.tsx';
import { Notice } from '../../ui/notice.tsx';
import { sizeText } from '../../ui/size-text.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { CredentialPlaces } from './credentials.tsx';
import { placeText, toRequestView } from './request-view.ts';
import type { NamedValue } from './request-view.ts';
import { Absent, Field, Section } from './section.tsx';

/** The request as it will be sent; what the template calls sensitive stands as `[REDACTED]`. */
export function RequestDetails(props: {
  request: ApprovalResponse['request'];
  exposed: string;
  isOpen: boolean;
  isRecorded: boolean;
}) {
  const view = createMemo(() => toRequestView(props.request));
  const absent = (word: string) => <Absent>{props.isRecorded ? word : 'not recorded'}</Absent>;
  return (
    <Section title="The exact request">
      <Show when={view().isTooLarge}>
        <div class="mb-4">
          <Shortened values={view().shortened} isOpen={props.isOpen} />
        </div>
      </Show>
      <Show when={view().isExposed}>
        <div class="mb-4">
          <Notice tone="warning">{props.exposed}</Notice>
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
            <NamedValues values={view().query} between=" =" />
          </Field>
        </Show>
        <Field label="Credentials">
          <Show when={view().credentials.length > 0} fallback={absent('none')}>
            <CredentialPlaces credentials={view().credentials} />
          </Show>
        </Field>
        <Field label="Headers">
          <Show when={view().headers.length > 0} fallback={absent('the usual ones only')}>
            <NamedValues values={view().headers} between=":" />
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
        {(hidden) => (
          <p class="mt-4 text-sm wrap-anywhere text-ink-soft">
            <VisibleText text={hidden()} />
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

function NamedValues(props: { values: readonly NamedValue[]; between: string }) {
  return (
    <For each={props.values}>
      {({ name, value }) => (
        <div class="flex gap-2 font-mono text-sm">
          <span class="max-w-2/5 shrink-0 text-ink-soft">
            <VisibleText text={name} />
            {props.between}
          </span>
          <LongText class="min-w-0" text={value} charactersMax={300} linesMax={4} />
        </div>
      )}
    </For>
  );
}

const shortenedMax = 20;

/** What of a request over 100 KiB is not shown, value by value. */
function Shortened(props: { values: readonly ShortenedValue[]; isOpen: boolean }) {
  const amount = () => (props.values.length === 1 ? 'one value' : `${props.values.length} values`);
  return (
    <Notice tone="warning">
      <p class="font-semibold">This request is too large to be shown whole</p>
      <p class="mt-1">
        Of {amount()} only the beginning is shown; everything else is there.
        {props.isOpen ? ' It can be allowed once, by a second click, and not be remembered.' : ''}
      </p>
      <ul class="mt-2 grid gap-2 text-sm">
        <For each={props.values.slice(0, shortenedMax)}>
          {(value) => (
            <li>
              <span class="font-mono font-semibold">
                <VisibleText text={placeText(value.at)} />
              </span>
              : {sizeText(value.bytes)}
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
      <Show when={props.values.length > shortenedMax}>
        <p class="mt-2 text-sm">and {props.values.length - shortenedMax} more.</p>
      </Show>
    </Notice>
  );
}
