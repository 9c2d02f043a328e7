import { For, Show } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { LongText } from '../../ui/long-text.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Field, Section } from './section.tsx';

/** Which action of which service, and the permission keys that it takes. */
export function ServiceDetails(props: { approval: ApprovalResponse; keysTitle: string }) {
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
        <Field label={props.keysTitle}>
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
