import type { Component, JSX } from 'solid-js';

import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import { VisibleText } from '../../ui/visible-text.tsx';
import { mayHandUp } from './approval-view.ts';
import { DenyForm } from './deny-form.tsx';
import { RememberForm } from './remember-form.tsx';
import { isTooLarge, needsSecondGesture } from './second-gesture.ts';
import type { DecideHandler } from './use-decision.ts';

interface FormProps {
  readonly approval: ApprovalResponse;
  readonly isDeciding: boolean;
  readonly onDecide: DecideHandler;
  readonly onBack: () => void;
}

/** One of the decisions that a person can choose. */
export interface Choice {
  readonly name: string;
  readonly label: (approval: ApprovalResponse) => JSX.Element;
  readonly busyLabel?: string;
  /** The keyboard key for this choice, and its description in the list of keys. */
  readonly key?: { readonly name: string; readonly description: string };
  /** Whether its button is a less visible one, above the other buttons. */
  readonly isSecondary?: boolean;
  readonly lookOf?: (approval: ApprovalResponse) => 'primary' | 'danger';
  readonly isShown: (approval: ApprovalResponse, me: Me) => boolean;
  /** What follows the choice: a form for the rest of the decision, or nothing more to enter. */
  readonly nextStep:
    | { readonly Form: Component<FormProps> }
    | { readonly bodyOf: (approval: ApprovalResponse) => ResolveApprovalBody };
}

/** The choices in the order of their buttons, from left to right. */
export const choices: readonly Choice[] = [
  {
    name: 'deny',
    label: () => 'Deny',
    key: { name: 'd', description: 'Deny, with a reason' },
    isShown: () => true,
    nextStep: { Form: DenyForm },
  },
  {
    name: 'remember',
    label: () => 'Allow and remember',
    key: { name: 'r', description: 'Allow and remember: choose how much and how long' },
    isShown: ({ verified, request }) => verified && !isTooLarge(request),
    nextStep: { Form: RememberForm },
  },
  {
    name: 'allow',
    label: () => 'Allow once',
    busyLabel: 'Deciding…',
    key: {
      name: 'a',
      description: 'Allow once; what cannot be undone or read whole is asked for again',
    },
    lookOf: (approval) => (needsSecondGesture(approval) ? 'danger' : 'primary'),
    isShown: ({ verified }) => verified,
    nextStep: {
      bodyOf: ({ request }) => ({
        resolution: 'allow',
        ...(isTooLarge(request) ? { acknowledge: 'too_large' as const } : {}),
      }),
    },
  },
  {
    name: 'hand_up',
    label: (approval) => (
      <>
        Hand up to <VisibleText text={approval.requester.path[0] ?? 'the user'} />
      </>
    ),
    isSecondary: true,
    isShown: (approval, me) => mayHandUp(me, approval),
    nextStep: { bodyOf: () => ({ resolution: 'bubble' }) },
  },
];
