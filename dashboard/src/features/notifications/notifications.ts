import { createSignal } from 'solid-js';

import type { EventType } from '#contracts/event-types';
import type { ApprovalResponse } from '#contracts/http/approvals';
import { cutText } from '../../ui/cut-text.ts';
import { toVisibleText } from '../../ui/visible-characters.ts';

/**
 * Whether this browser notifies about approvals that wait for the person. `blocked`: the browser's
 * settings for this address forbid it. `impossible`: the browser cannot show notifications of an
 * open page, for example on Android, or over plain http to another machine.
 */
export type NotificationState = 'off' | 'on' | 'blocked' | 'impossible';

/** Holds the id of the person who wants notifications in this browser. */
const storageKey = 'gateway_notifications';
const bodyMax = { charactersMax: 200, linesMax: 4 };

/** Incremented whenever the browser's permission or the stored choice may have changed. */
const [changes, setChanges] = createSignal(0);

export function notificationStateOf(personId: string): NotificationState {
  changes();
  if (!isSecureContext || !('Notification' in window)) return 'impossible';
  if (Notification.permission === 'denied') return 'blocked';
  const isWanted = localStorage.getItem(storageKey) === personId;
  return isWanted && Notification.permission === 'granted' ? 'on' : 'off';
}

/**
 * Lets the browser ask the person for permission, and shows a first notification. It must be called
 * when the person presses a button, because browsers ignore pages that ask by themselves. Returns
 * false if the browser cannot show notifications.
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
 * Notifies of a new approval that the person may decide, if they are not looking at this page.
 * Pressing the notification opens the card. Nothing can be decided in the notification itself.
 */
export function notifyOfEvent(
  event: LiveEvent,
  { personId, onOpen }: { readonly personId: string; readonly onOpen: (id: string) => void },
): void {
  const waiting = waitingApprovalOf(event);
  if (waiting?.resolverId !== personId || document.hasFocus()) return;
  if (notificationStateOf(personId) !== 'on') return;
  // Every tab of the browser gets the event. The tag merges their notifications into one.
  show({ ...waiting, tag: waiting.id, onPress: () => onOpen(waiting.id) });
}

/** What a notification needs of an event about a new approval. */
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
