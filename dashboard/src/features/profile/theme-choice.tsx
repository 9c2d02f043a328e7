import { For } from 'solid-js';

import { RadioBox } from '../../ui/field.tsx';
import { chooseTheme, chosenTheme, themes } from '../../ui/theme.ts';

const labels = {
  system: { label: 'System', hint: 'As this device is set' },
  light: { label: 'Light', hint: undefined },
  dark: { label: 'Dark', hint: undefined },
} as const;

/** The setting for the colours of the dashboard, which this browser keeps. */
export function ThemeChoice() {
  return (
    <fieldset class="grid gap-2 sm:grid-cols-3">
      <legend class="mb-2 text-sm text-ink-soft">Kept in this browser.</legend>
      <For each={themes}>
        {(theme) => (
          <RadioBox
            name="theme"
            label={labels[theme].label}
            hint={labels[theme].hint}
            isChecked={chosenTheme() === theme}
            onChoose={() => chooseTheme(theme)}
          />
        )}
      </For>
    </fieldset>
  );
}
