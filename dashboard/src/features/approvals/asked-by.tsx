import { Show } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { Chip } from '../../ui/chip.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { isSampleCall, serviceOf } from './approval-view.ts';

/** A line of a list: the agent that asks, and the service that it wants to call. */
export function AskedBy(props: { approval: ApprovalResponse }) {
  return (
    <span class="flex min-w-0 items-center gap-2">
      <span class="truncate">
        <VisibleText text={props.approval.requester.name} />
        {props.approval.service === 'http' ? ', direct HTTP' : ' on '}
        <Show when={props.approval.service !== 'http'}>
          <VisibleText text={serviceOf(props.approval)} />
        </Show>
      </span>
      <Show when={isSampleCall(props.approval)}>
        <Chip>Sample</Chip>
      </Show>
    </span>
  );
}
