import { createMemo, createSignal } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { useMe } from '../../session/session.tsx';
import { areAlike, batchMax, isBatchable } from './batch-view.ts';

/**
 * The approvals that a person has selected to decide together. They are kept as they were at that
 * moment, and no approval joins them by itself.
 */
export function useSelection() {
  const me = useMe();
  const [isSelecting, setSelecting] = createSignal(false);
  const [selected, setSelected] = createSignal<readonly ApprovalResponse[]>([]);
  const selectedIds = createMemo(() => new Set(selected().map(({ id }) => id)));
  const fits = (approval: ApprovalResponse) => {
    const [first] = selected();
    return isBatchable(me(), approval) && (first === undefined || areAlike(first, approval));
  };
  return {
    isSelecting,
    selected,
    has: (id: string) => selectedIds().has(id),
    canSelect: (approval: ApprovalResponse) =>
      selectedIds().has(approval.id) || (fits(approval) && selected().length < batchMax),
    toggle: (approval: ApprovalResponse) =>
      setSelected((before) =>
        before.some(({ id }) => id === approval.id)
          ? before.filter(({ id }) => id !== approval.id)
          : [...before, approval].slice(0, batchMax),
      ),
    /** Selects those of the given approvals that are like the selected ones. */
    selectAlike: (approvals: readonly ApprovalResponse[]) =>
      setSelected((before) =>
        [...before, ...approvals.filter((each) => !selectedIds().has(each.id) && fits(each))].slice(
          0,
          batchMax,
        ),
      ),
    countAlike: (approvals: readonly ApprovalResponse[]) =>
      approvals.filter((each) => !selectedIds().has(each.id) && fits(each)).length,
    start: () => setSelecting(true),
    end: () => {
      setSelecting(false);
      setSelected([]);
    },
  };
}

export type Selection = ReturnType<typeof useSelection>;
