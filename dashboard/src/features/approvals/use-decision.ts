import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { createEffect, createSignal, on } from 'solid-js';

import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import { isApiError } from '../../api/client.ts';
import { announce } from '../../ui/announcer.tsx';
import { visibleText } from '../../ui/visible-characters.ts';
import { useMe } from '../session/session.tsx';
import { decisionText, endSentence, isOpen } from './approval-view.ts';
import {
  approvalKeys,
  callApproval,
  cancelApproval,
  resolveApproval,
} from './approvals.queries.ts';

export type Decide = (body: ResolveApprovalBody) => void;

/** What one person does with one approval, and what others do with it meanwhile. */
export function useDecision(approval: () => ApprovalResponse) {
  const me = useMe();
  const queryClient = useQueryClient();
  const [isDecidedHere, setDecidedHere] = createSignal(false);
  const [cascadedCount, setCascadedCount] = createSignal(0);
  const [isDecidedElsewhere, setDecidedElsewhere] = createSignal(false);

  const take = (answer: ApprovalResponse) => {
    queryClient.setQueryData(approvalKeys.one(answer.id), answer);
  };
  const refresh = () => queryClient.invalidateQueries({ queryKey: approvalKeys.all });

  const deciding = useMutation(() => ({
    mutationFn: resolveApproval,
    onSuccess: (answer: ApprovalResponse) => {
      if (!isOpen(answer)) setDecidedHere(true);
      // Only this one answer says it.
      setCascadedCount(answer.cascaded_approval_ids?.length ?? 0);
      take(answer);
    },
    onSettled: refresh,
  }));
  const running = useMutation(() => ({
    mutationFn: callApproval,
    onSuccess: take,
    onSettled: refresh,
  }));
  const stopping = useMutation(() => ({
    mutationFn: cancelApproval,
    onSuccess: take,
    onSettled: refresh,
  }));

  createEffect(
    on(
      () => isOpen(approval()),
      (nowOpen, wasOpen) => {
        if (nowOpen || wasOpen !== true) return;
        if (!isDecidedHere()) setDecidedElsewhere(true);
        announce(visibleText(`${decisionText(approval(), me().id)}.`));
      },
    ),
  );
  createEffect(
    on(
      () => approval().execution?.status,
      (status, before, isSeen?: boolean) => {
        const sentence = endSentence(approval());
        const isNew = isSeen === true && status !== before;
        if (isNew && sentence !== undefined) announce(visibleText(sentence));
        return true;
      },
    ),
  );

  return {
    deciding,
    running,
    stopping,
    isDecidedHere,
    isDecidedElsewhere,
    cascadedCount,
    decide: (body: ResolveApprovalBody) => {
      if (!deciding.isPending) deciding.mutate({ id: approval().id, body });
    },
    /** What to show of a failure: that somebody was faster is shown as their decision. */
    error: () => {
      const { error } = deciding;
      if (isApiError(error, 'already_resolved') || isApiError(error, 'expired')) return null;
      return error ?? running.error ?? stopping.error;
    },
  };
}
