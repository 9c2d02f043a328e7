import { Match, Show, Switch, createSignal } from 'solid-js';

import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import {
  notificationStateOf,
  turnNotificationsOff,
  turnNotificationsOn,
} from '../notifications/notifications.ts';
import { useMe } from '../session/session.tsx';

/**
 * The setting whether this browser notifies about approvals that wait for the person. The browser
 * asks for permission only when the button is pressed.
 */
export function NotificationChoice() {
  const me = useMe();
  const [isAsking, setAsking] = createSignal(false);
  const [hasFailed, setFailed] = createSignal(false);
  const state = () => (hasFailed() ? 'impossible' : notificationStateOf(me().id));
  const turnOn = async () => {
    setAsking(true);
    setFailed(!(await turnNotificationsOn(me().id)));
    setAsking(false);
    if (state() === 'on') announce('Notifications are on.');
  };
  const turnOff = () => {
    turnNotificationsOff();
    announce('Notifications are off.');
  };
  return (
    <>
      <p class="mb-3 text-ink-soft">
        While the dashboard is open and you look at something else, this browser shows each approval
        that waits for you. Kept in this browser.
      </p>
      <Switch>
        <Match when={state() === 'impossible'}>
          <p class="font-medium">This browser shows no notifications for this address.</p>
        </Match>
        <Match when={state() === 'blocked'}>
          <p class="font-medium">
            This browser blocks notifications of this address. Allow them in its settings for the
            site, and load this page again.
          </p>
        </Match>
        <Match when={true}>
          <div class="flex flex-wrap items-center gap-x-4 gap-y-2">
            <Show
              when={state() === 'on'}
              fallback={
                <Button disabled={isAsking()} onClick={() => void turnOn()}>
                  {isAsking() ? 'Asking the browser…' : 'Turn on notifications'}
                </Button>
              }
            >
              <Button onClick={turnOff}>Turn off notifications</Button>
            </Show>
            <span class="flex items-center gap-2 font-medium">
              <Show when={state() === 'on'} fallback="They are off.">
                <Icon name="check" class="size-5 shrink-0 text-accent" /> They are on.
              </Show>
            </span>
          </div>
        </Match>
      </Switch>
    </>
  );
}
