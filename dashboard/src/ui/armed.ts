import { createSignal, onCleanup } from 'solid-js';

/**
 * How long the button of a second gesture ignores clicks. It is longer than a double tap, so that
 * the second tap decides nothing.
 */
const armedAfterMs = 700;

/** Whether the second gesture counts yet, and what begins the wait for it anew. */
export function createArmed(): [isArmed: () => boolean, arm: () => void] {
  const [isArmed, setArmed] = createSignal(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(timer));
  const arm = () => {
    setArmed(false);
    clearTimeout(timer);
    timer = setTimeout(() => setArmed(true), armedAfterMs);
  };
  return [isArmed, arm];
}
