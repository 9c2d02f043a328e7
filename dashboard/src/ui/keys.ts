import { onCleanup, onMount } from 'solid-js';

/**
 * Handles single keys on the whole page, except while the person types in a field. The names in
 * `handlers` are those of the keys.
 */
export function useKeys(handlers: () => Readonly<Record<string, (() => void) | undefined>>): void {
  const handleKeyDown = (event: KeyboardEvent) => {
    // Ignores keys that are held down, and keys that belong to a shortcut of the browser.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
      return;
    }
    if (isTyping(event.target) || document.querySelector('[role="dialog"], [role="menu"]')) return;
    // With Caps Lock, a capital letter counts as the small letter.
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
