/** Shows the keyboard shortcut of a button. Phones do not show it. */
export function Key(props: { name: string }) {
  return (
    <kbd
      class="keyboard-only hidden min-w-5 rounded border border-current px-1 text-center font-mono text-xs leading-5 font-normal sm:inline"
      aria-hidden="true"
    >
      {props.name}
    </kbd>
  );
}
