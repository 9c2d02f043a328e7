import { For } from 'solid-js';

import { RadioBox } from '../../ui/field.tsx';
import { roleWords, roles } from './role-words.ts';
import type { Role } from './role-words.ts';

export function RoleChoice(props: { name: string; role: Role; onChoose: (role: Role) => void }) {
  return (
    <fieldset class="grid gap-2">
      <legend class="mb-2 font-semibold">Role</legend>
      <For each={roles}>
        {(role) => (
          <RadioBox
            name={props.name}
            isChecked={props.role === role}
            onChoose={() => props.onChoose(role)}
            label={roleWords[role]}
          />
        )}
      </For>
    </fieldset>
  );
}
