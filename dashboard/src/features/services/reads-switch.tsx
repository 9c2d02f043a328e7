import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show, createUniqueId } from 'solid-js';

import { announce } from '../../ui/announcer.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { serviceReferenceOf } from './service-view.ts';
import { updateService } from './services.queries.ts';
import type { ServiceDetail } from './services.queries.ts';

/** The switch that lets agents read without asking. */
export function ReadsSwitch(props: { service: ServiceDetail; mayChange: boolean }) {
  const queryClient = useQueryClient();
  const hintId = createUniqueId();
  const changing = useMutation(() => ({
    mutationFn: updateService,
    onSuccess: (service) => {
      announce(service.auto_allow_reads ? 'Reads run at once' : 'Everything asks first');
      return queryClient.invalidateQueries({ queryKey: ['services'] });
    },
  }));
  return (
    <div class="grid gap-3">
      <label class="flex items-start gap-3" classList={{ 'cursor-pointer': props.mayChange }}>
        <input
          type="checkbox"
          role="switch"
          class="mt-1 size-5 shrink-0 accent-accent"
          checked={props.service.auto_allow_reads}
          disabled={!props.mayChange || changing.isPending}
          aria-describedby={hintId}
          onChange={(event) => {
            const isOn = event.currentTarget.checked;
            // Undoes the click: the switch shows the stored setting until the gateway confirms the
            // change.
            event.currentTarget.checked = !isOn;
            changing.mutate({
              reference: serviceReferenceOf(props.service),
              body: { auto_allow_reads: isOn },
            });
          }}
        />
        <span>
          <span class="block font-medium">Reads run at once</span>
          <span id={hintId} class="block text-sm text-ink-soft">
            {props.service.auto_allow_reads
              ? 'Agents look things up without asking. Everything else asks a person first, unless a permission allows it.'
              : 'Everything asks a person first, reading too, unless a permission allows it.'}
          </span>
        </span>
      </label>
      <Show when={changing.error}>{(error) => <ErrorNotice error={error()} />}</Show>
    </div>
  );
}
