import { For, Index, Match, Show, Switch, createMemo } from 'solid-js';
import type { JSX } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { LongText } from '../../ui/long-text.tsx';
import { Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { toRequestView } from './request-view.ts';

type Request = ApprovalResponse['request'];

function Section(props: { title: string; children: JSX.Element }) {
  return (
    <section class="px-4 py-5 sm:px-6">
      <h2 class="mb-3 text-sm font-semibold text-ink-soft">{props.title}</h2>
      {props.children}
    </section>
  );
}

function Field(props: { label: JSX.Element; children: JSX.Element }) {
  return (
    <div class="grid gap-x-4 gap-y-0.5 sm:grid-cols-[8.5rem_minmax(0,1fr)]">
      <dt class="text-sm text-ink-soft sm:pt-0.5">{props.label}</dt>
      <dd class="min-w-0">{props.children}</dd>
    </div>
  );
}

/** Method and host as they will be sent, right below the sentence that somebody else wrote. */
export function Destination(props: { request: Request }) {
  const view = createMemo(() => toRequestView(props.request));
  return (
    <p
      class="mt-3 line-clamp-4 rounded-lg bg-sunken px-3 py-2 font-mono text-sm wrap-anywhere"
      dir="ltr"
    >
      <strong>
        <VisibleText text={view().method} />
      </strong>{' '}
      <Show when={view().host}>
        {(host) => (
          <strong>
            <VisibleText text={host()} />
          </strong>
        )}
      </Show>
      <span class="text-ink-soft">
        <For each={view().target.split(/(?<=[/?&])/)}>
          {(part) => (
            <>
              <VisibleText text={part} />
              <wbr />
            </>
          )}
        </For>
      </span>
    </p>
  );
}

/** What the template's author said a person must see. */
export function DisclosedFields(props: { fields: ApprovalResponse['disclosed'] }) {
  const isGiven = (field: ApprovalResponse['disclosed'][number]) =>
    field.value !== '' || field.error !== undefined;
  const given = () => props.fields.filter(isGiven);
  const absent = () => props.fields.filter((field) => !isGiven(field));
  return (
    <Show when={props.fields.length > 0}>
      <Section title="What it will do">
        <dl class="grid gap-3">
          {/* By position: read again, it is the same text, and stays as it was opened. */}
          <Index each={given()}>
            {(field) => (
              <Field label={<VisibleText text={field().label} />}>
                <Show
                  when={field().error}
                  fallback={
                    <>
                      <LongText text={field().value} />
                      <Show when={field().truncated}>
                        <p class="mt-1 text-sm font-medium text-medium">
                          The gateway cut this off here; see the request below.
                        </p>
                      </Show>
                    </>
                  }
                >
                  {(error) => (
                    <p class="text-medium">
                      Could not be read from the request: <VisibleText text={error()} />
                    </p>
                  )}
                </Show>
              </Field>
            )}
          </Index>
        </dl>
        <Show when={absent().length > 0}>
          <p class="mt-3 text-sm text-ink-soft">
            Not given:{' '}
            <For each={absent()}>
              {(field, at) => (
                <>
                  {at() > 0 ? ', ' : ''}
                  <VisibleText text={field.label} />
                </>
              )}
            </For>
          </p>
        </Show>
      </Section>
    </Show>
  );
}

/** The request as it will be sent; what the template calls sensitive stands as `[REDACTED]`. */
export function RequestDetails(props: { request: Request }) {
  const view = createMemo(() => toRequestView(props.request));
  const params = () => (props.request.too_large === true ? null : props.request.params);
  return (
    <Section title="The exact request">
      <Show when={view().isTooLarge}>
        <div class="mb-4">
          <Notice tone="warning">
            The body is over 100 KiB, too large to be shown. Allow this only if you know what it
            holds.
          </Notice>
        </div>
      </Show>
      <Show when={view().isExposed}>
        <div class="mb-4">
          <Notice tone="warning">This goes over plain http: others on the way can read it.</Notice>
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
            <For each={view().query}>
              {({ name, value }) => (
                <div class="flex gap-2 font-mono text-sm">
                  <span class="max-w-2/5 shrink-0 text-ink-soft">
                    <VisibleText text={name} /> =
                  </span>
                  <LongText class="min-w-0" text={value} charactersMax={300} linesMax={4} />
                </div>
              )}
            </For>
          </Field>
        </Show>
        <Field label="Body">
          <Switch fallback={<Absent>none</Absent>}>
            <Match when={view().isTooLarge}>
              <Absent>not shown</Absent>
            </Match>
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
      <Show when={params() !== null && JSON.stringify(params()) !== '{}'}>
        <details class="mt-4">
          <summary class="min-h-8 rounded text-sm font-medium text-ink-soft hover:text-ink">
            Parameters as the agent gave them
          </summary>
          <LongText
            class="mt-2 rounded-lg bg-sunken p-3 font-mono text-sm"
            text={JSON.stringify(params(), null, 2)}
            charactersMax={1200}
            linesMax={24}
          />
        </details>
      </Show>
    </Section>
  );
}

export function ServiceDetails(props: { approval: ApprovalResponse }) {
  return (
    <Section title="Where and by which permission">
      <dl class="grid gap-3">
        <Field label="Service">
          <Show
            when={props.approval.service !== 'http'}
            fallback="No connected service: a direct HTTP request"
          >
            <strong class="font-semibold">
              <VisibleText text={props.approval.service} />
            </strong>
            <Show when={props.approval.template}>
              {(template) => (
                <span class="text-ink-soft">
                  , of template <VisibleText text={template()} />
                </span>
              )}
            </Show>
          </Show>
        </Field>
        <Field label="Action">
          <VisibleText text={props.approval.action} />
        </Field>
        <Field label="Not allowed yet">
          <ul class="grid gap-1">
            <For each={props.approval.permission_keys}>
              {(key) => (
                <li class="font-mono text-sm" dir="ltr">
                  <LongText text={key} charactersMax={200} linesMax={3} />
                </li>
              )}
            </For>
          </ul>
        </Field>
      </dl>
    </Section>
  );
}

function Absent(props: { children: JSX.Element }) {
  return <span class="text-ink-soft italic">{props.children}</span>;
}
