import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { createEffect, createSignal, on } from 'solid-js';

import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import { isApiError } from '../../api/client.ts';
import { announce } from '../../ui/announcer.tsx';
import { toVisibleText } from '../../ui/visible-characters.ts';
import { useMe } from '../session/session.tsx';
import {
  approvalKeys,
  callApproval,
  cancelApproval,
  resolveApproval,
} from './approvals.queries.ts';
import { spokenSentences } from './spoken-sentences.ts';

export type DecideHandler = (body: ResolveApprovalBody) => void;

/**
 * The state of this person's decision on an approval. It also says whether another person decided
 * first.
 */
export function useDecision(approval: () => ApprovalResponse) {
  const me = useMe();
  const queryClient = useQueryClient();
  const [isDecidedHere, setDecidedHere] = createSignal(false);
  const [cascadedCount, setCascadedCount] = createSignal(0);
  const [isDecidedElsewhere, setDecidedElsewhere] = createSignal(false);

  const storeAnswer = (answer: ApprovalResponse) => {
    queryClient.setQueryData(approvalKeys.one(answer.id), answer);
  };
  // Not awaited: the answer is already here, and an error must be shown at once.
  const refresh = () => void queryClient.invalidateQueries({ queryKey: approvalKeys.all });

  const decisionMutation = useMutation(() => ({
    mutationFn: resolveApproval,
    onSuccess: (answer: ApprovalResponse) => {
      if (!isOpenApproval(answer)) setDecidedHere(true);
      // Only the answer to the decision lists the cascaded approvals.
      setCascadedCount(answer.cascaded_approval_ids?.length ?? 0);
      storeAnswer(answer);
    },
    onSettled: refresh,
  }));
  const running = useMutation(() => ({
    mutationFn: callApproval,
    onSuccess: storeAnswer,
    onSettled: refresh,
  }));
  const stopping = useMutation(() => ({
    mutationFn: cancelApproval,
    onSuccess: storeAnswer,
    onSettled: refresh,
  }));

  createEffect(
    on(
      () => isOpenApproval(approval()),
      (isOpenNow, wasOpen) => {
        if (isOpenNow || wasOpen !== true) return;
        if (!isDecidedHere()) setDecidedElsewhere(true);
        announce(toVisibleText(spokenSentences['approval.resolved'].onCard(approval(), me().id)));
      },
    ),
  );
  createEffect(
    on(
      () => approval().execution?.status,
      (status, previousStatus, isSeen?: boolean) => {
        const sentence = spokenSentences['execution.finished'].onCard(approval());
        const isNew = isSeen === true && status !== previousStatus;
        if (isNew && sentence !== undefined) announce(toVisibleText(sentence));
        return true;
      },
    ),
  );

  return {
    deciding: decisionMutation,
    running,
    stopping,
    isDecidedHere,
    isDecidedElsewhere,
    cascadedCount,
    decide: (body: ResolveApprovalBody) => {
      if (!decisionMutation.isPending) decisionMutation.mutate({ id: approval().id, body });
    },
    /**
     * The error to show. If another person decided first, the page shows that decision instead of
     * an error.
     */
    error: () => {
      const { error } = decisionMutation;
      if (isApiError(error, 'already_resolved') || isApiError(error, 'expired')) return null;
      return error ?? running.error ?? stopping.error;
    },
  };
}
