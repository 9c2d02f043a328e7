import { onCleanup, onMount } from 'solid-js';

/** Single keys do something on the whole page, except while they are being typed somewhere. */
export function useKeys(handlers: () => Readonly<Record<string, (() => void) | undefined>>): void {
  const listen = (event: KeyboardEvent) => {
    // A key held down, or part of a shortcut of the browser, decides nothing.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
      return;
    }
    if (isTyping(event.target) || document.querySelector('[role="dialog"], [role="menu"]')) return;
    // With Caps Lock a letter is the same key.
    const isLetter = event.key.length === 1 && !event.shiftKey;
    const handle = handlers()[isLetter ? event.key.toLowerCase() : event.key];
    if (handle === undefined) return;
    event.preventDefault();
    handle();
  };
  onMount(() => document.addEventListener('keydown', listen));
  onCleanup(() => document.removeEventListener('keydown', listen));
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['radio', 'checkbox'].includes(target.type);
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName);
}
