import { createSignal, onCleanup } from 'solid-js';

/**
 * How long the button for the second click ignores clicks. It is longer than a double tap, so that
 * the second tap of a double tap decides nothing.
 */
const armedAfterMs = 700;

/** Returns whether the second click counts yet, and a function that restarts the waiting time. */
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
