import { For, Show } from 'solid-js';

import { VisibleText } from './visible-text.tsx';

/**
 * A list of hosts, one on each line, so that a person can check each host. Long hosts break after a
 * dot and not within a word, because the end of a host shows to whom it belongs.
 */
export function HostList(props: { hosts: readonly string[] }) {
  return (
    <ul class="font-mono font-semibold text-ink">
      <For each={props.hosts}>
        {(host) => (
          <li class="wrap-anywhere">
            <For each={host.split(/(?<=\.)/)}>
              {(label, index) => (
                <>
                  <Show when={index() > 0}>
                    <wbr />
                  </Show>
                  <VisibleText text={label} />
                </>
              )}
            </For>
          </li>
        )}
      </For>
    </ul>
  );
}
