import { createSignal } from 'solid-js';

const [announcement, setAnnouncement] = createSignal('');

/** Says something to those who do not see it change. */
export function announce(sentence: string): void {
  // The same sentence twice is no change, and so would not be read again.
  setAnnouncement((last) => (last === sentence ? `${sentence}\u00a0` : sentence));
}

export function Announcer() {
  return (
    <div class="sr-only" aria-live="polite" role="status">
      {announcement()}
    </div>
  );
}
