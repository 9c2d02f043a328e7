import { For, Show } from 'solid-js';

import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalResponse } from '#contracts/http/approvals';
import { LongText } from '../../ui/long-text.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { isUnderWay, serviceOf } from './approval-view.ts';
import { WhyAsked } from './explain/why-asked.tsx';
import { Field, Section } from './section.tsx';

/** The action, its service and the permission keys of the call. */
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
              <VisibleText text={serviceOf(props.approval)} />
            </strong>
            <Show when={props.approval.service !== props.approval.template}>
              <span class="text-ink-soft">
                , of the catalogue entry <VisibleText text={props.approval.template ?? ''} />
              </span>
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
      {/* The gateway deletes the reasons when a call has ended, so they are shown only before. */}
      <Show when={isOpenApproval(props.approval) || isUnderWay(props.approval)}>
        <WhyAsked approval={props.approval} />
      </Show>
    </Section>
  );
}
