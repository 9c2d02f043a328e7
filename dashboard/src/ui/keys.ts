import { onCleanup, onMount } from 'solid-js';

/** Handles single keys on the whole page, except while the person types in a field. */
export function useKeys(handlers: () => Readonly<Record<string, (() => void) | undefined>>): void {
  const handleKeyDown = (event: KeyboardEvent) => {
    // Ignores a key that is held down, and a key that is part of a shortcut of the browser.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
      return;
    }
    if (isTyping(event.target) || document.querySelector('[role="dialog"], [role="menu"]')) return;
    // A letter typed with Caps Lock counts as the small letter.
    const isLetter = event.key.length === 1 && !event.shiftKey;
    const handle = handlers()[isLetter ? event.key.toLowerCase() : event.key];
    if (handle === undefined) return;
    event.preventDefault();
    handle();
  };
  onMount(() => document.addEventListener('keydown', handleKeyDown));
  onCleanup(() => document.removeEventListener('keydown', handleKeyDown));
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['radio', 'checkbox'].includes(target.type);
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName);
}
