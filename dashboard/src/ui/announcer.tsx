import { createSignal } from 'solid-js';

const [announcement, setAnnouncement] = createSignal('');

/** Has a sentence read out by screen readers. */
export function announce(sentence: string): void {
  // Screen readers ignore a sentence that they have just read, so an invisible space makes it
  // different.
  setAnnouncement((last) => (last === sentence ? `${sentence}\u00a0` : sentence));
}

export function Announcer() {
  return (
    <div class="sr-only" aria-live="polite" role="status">
      {announcement()}
    </div>
  );
}
