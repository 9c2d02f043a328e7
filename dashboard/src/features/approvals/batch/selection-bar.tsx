import { Show, createSignal } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { Button } from '../../../ui/button.tsx';
import { BatchSheet } from './batch-sheet.tsx';
import { batchMax } from './batch-view.ts';
import type { Selection } from './use-selection.ts';

/**
 * Shows how many approvals are selected, with buttons to decide them on the sheet and to end the
 * selection.
 */
export function SelectionBar(props: { selection: Selection; items: readonly ApprovalResponse[] }) {
  const [isSheetOpen, setSheetOpen] = createSignal(false);
  const count = () => props.selection.selected().length;
  const alikeCount = () => Math.min(props.selection.countAlike(props.items), batchMax - count());
  const close = () => {
    setSheetOpen(false);
    props.selection.end();
  };
  return (
    <>
      <div class="sticky top-14 z-10 mb-3 rounded-lg border border-line-strong bg-surface p-3 lg:top-0">
        <p class="text-sm" role="status">
          <Show
            when={count() > 0}
            fallback="Select calls of one agent that do the same. What deletes is decided alone."
          >
            {count()} selected{count() === batchMax ? ', the most at once' : ''}
          </Show>
        </p>
        <div class="mt-2 flex flex-wrap gap-2">
          <Show when={count() > 0 && alikeCount() > 0}>
            <Button class="px-3! text-sm" onClick={() => props.selection.selectAlike(props.items)}>
              Select {alikeCount()} more like this
            </Button>
          </Show>
          <Button
            look="primary"
            class="px-3! text-sm"
            disabled={count() === 0}
            onClick={() => setSheetOpen(true)}
          >
            Review {count()}
          </Button>
          <Button class="px-3! text-sm" onClick={close}>
            Cancel
          </Button>
        </div>
      </div>
      <BatchSheet selected={props.selection.selected()} isOpen={isSheetOpen()} onClose={close} />
    </>
  );
}
