import { createSignal } from 'solid-js';

const [announcement, setAnnouncement] = createSignal('');

/** Lets screen readers read out a sentence. */
export function announce(sentence: string): void {
  // Screen readers do not repeat the sentence that they read last. An added invisible space makes
  // it a different sentence.
  setAnnouncement((last) => (last === sentence ? `${sentence}\u00a0` : sentence));
}

export function Announcer() {
  return (
    <div class="sr-only" aria-live="polite" role="status">
      {announcement()}
    </div>
  );
}
