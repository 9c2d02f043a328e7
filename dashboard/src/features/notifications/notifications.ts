import { createSignal } from 'solid-js';

import type { EventType } from '#contracts/event-types';
import type { ApprovalResponse } from '#contracts/http/approvals';
import { cutText } from '../../ui/cut-text.ts';
import { toVisibleText } from '../../ui/visible-characters.ts';

/**
 * Whether this browser shows approvals that wait for the person: `blocked` when its settings for this
 * address refuse that, `impossible` where it shows no notifications of an open page, as on Android
 * and over plain http to another machine.
 */
export type NotificationState = 'off' | 'on' | 'blocked' | 'impossible';

/** Holds the id of the person who wants notifications in this browser. */
const storageKey = 'gateway_notifications';
const bodyMax = { charactersMax: 200, linesMax: 4 };

/** Changes whenever what the browser says may have changed. */
const [changes, setChanges] = createSignal(0);

export function notificationStateOf(personId: string): NotificationState {
  changes();
  if (!isSecureContext || !('Notification' in window)) return 'impossible';
  if (Notification.permission === 'denied') return 'blocked';
  const isWanted = localStorage.getItem(storageKey) === personId;
  return isWanted && Notification.permission === 'granted' ? 'on' : 'off';
}

/**
 * Asks the browser, which asks the person, and shows a first notification. Called when the person
 * presses a button: a browser refuses a page that asks by itself. False if the browser shows none.
 */
export async function turnNotificationsOn(personId: string): Promise<boolean> {
  try {
    if ((await Notification.requestPermission()) !== 'granted') return true;
    show({ title: 'Notifications are on', body: 'Approvals that wait for you appear like this.' });
    localStorage.setItem(storageKey, personId);
    return true;
  } catch {
    return false; // On Android the constructor throws.
  } finally {
    setChanges((count) => count + 1);
  }
}

export function turnNotificationsOff(): void {
  localStorage.removeItem(storageKey);
  setChanges((count) => count + 1);
}

interface LiveEvent {
  readonly type: EventType;
  readonly data: unknown;
}
type Raised = Pick<ApprovalResponse, 'id' | 'resolver_id' | 'requester' | 'action_description'>;

/**
 * Shows a new approval that the person may decide while they look at another page. Pressing it
 * opens the card: nothing is decided from a notification.
 */
export function notifyOfEvent(
  event: LiveEvent,
  { personId, onOpen }: { readonly personId: string; readonly onOpen: (id: string) => void },
): void {
  const waiting = waitingApprovalOf(event);
  if (waiting?.resolverId !== personId || document.hasFocus()) return;
  if (notificationStateOf(personId) !== 'on') return;
  // All tabs of the browser hear of the approval, and its tag makes theirs one notification.
  show({ ...waiting, tag: waiting.id, onPress: () => onOpen(waiting.id) });
}

/** The part of an event about a new approval that a notification needs. */
function waitingApprovalOf({ type, data }: LiveEvent) {
  if (typeof data !== 'object' || data === null) return undefined;
  if (type === 'approval.raised') {
    const { id, resolver_id: resolverId, requester, action_description: body } = data as Raised;
    const title = `${toVisibleText(requester.name)} asks`;
    return { id, resolverId, title, body: cutText(toVisibleText(body), bodyMax).text };
  }
  if (type !== 'approval.bubbled') return undefined;
  const { approval_id: id, to: resolverId } = data as { approval_id: string; to: string };
  return { id, resolverId, title: 'An approval was handed up to you', body: '' };
}

function show({
  title,
  body,
  tag,
  onPress,
}: {
  readonly title: string;
  readonly body: string;
  readonly tag?: string;
  readonly onPress?: () => void;
}): void {
  const notification = new Notification(title, { body, ...(tag === undefined ? {} : { tag }) });
  notification.addEventListener('click', () => {
    window.focus();
    notification.close();
    onPress?.();
  });
}
